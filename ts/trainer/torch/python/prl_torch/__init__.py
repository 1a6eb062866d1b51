"""The PyTorch trainer of prl: one process for each rank, driven over a socket by `ts/trainer/torch`."""
