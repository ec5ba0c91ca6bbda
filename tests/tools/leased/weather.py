# SPDX-License-Identifier: BSD-3-Clause
"""What a leased is under while it runs: a disk that fails or is slow, a clock that is set.

The other end is foul_weather.cpp, a library for LD_PRELOAD that reads the same six words.
"""

import mmap
import os
import struct

WORDS = struct.Struct("<6q")


class Weather:
    def __init__(self, library, path):
        path.write_bytes(bytes(WORDS.size))
        with open(path, "r+b") as file:
            self.words = mmap.mmap(file.fileno(), WORDS.size)
        self.environment = {"LD_PRELOAD": library, "PORTCULLIS_WEATHER": str(path)}

    def over(self, environment=None):
        """An environment (this process's, where none is given) with the weather over it."""
        return (os.environ if environment is None else environment) | self.environment

    def be(self, disk=0, ahead_ms=0, spared=0, one_in=1, slow_ms=0):
        """`disk`: errno of who reads or writes the journal or waits for it. Of these calls `spared`
        pass first, then each `one_in`-th fails. Who waits for the disk waits `slow_ms` longer."""
        self.words[:] = WORDS.pack(disk, ahead_ms, spared, one_in, slow_ms, 0)  # calls so far
