"""What a step costs: a trace of its time, and the memory of its phases."""
