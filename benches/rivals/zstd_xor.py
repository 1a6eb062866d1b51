"""Mean bytes of zstd-1 of the XOR of consecutive versions, and of the same with low and high bytes apart.

python zstd_xor.py DIRECTORY STEPS; DIRECTORY holds 0.bin to STEPS.bin, the 16-bit weights of each version.
Needs numpy and zstandard. Prints one JSON object.
"""

import json
import os
import sys

import numpy
import zstandard

directory, steps = sys.argv[1], int(sys.argv[2])
versions = [numpy.fromfile(os.path.join(directory, f"{version}.bin"), numpy.uint16) for version in range(steps + 1)]
compress = zstandard.ZstdCompressor(level=1).compress
xor = planes = 0
for old, new in zip(versions, versions[1:]):
    changed = old ^ new
    xor += len(compress(changed.tobytes())) / steps
    planes += len(compress(changed.view(numpy.uint8).reshape(-1, 2).T.tobytes())) / steps
print(json.dumps({"xor": xor, "planes": planes}))
