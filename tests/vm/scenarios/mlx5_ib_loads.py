# SPDX-License-Identifier: BSD-3-Clause
#
# A driver that goes gives back all that it had: what one load leaves behind is there a hundred
# times after a hundred.
import re
from pathlib import Path

import rdma_log
from scenario import Scenario
from scenarios.mlx5_core import firmware_pages

# What the model may have more of after the last round than after the first ten, by then as large as
# it gets.
GROWTH_KIB = 512


def rounds(text: str) -> list[int]:
    """The server's own memory after each ten rounds, from memory.txt."""
    return [int(size) for size in re.findall(r"^(\d+) mlx5_.*, \d+0$", text, re.M)]


def wrong_memory(text: str) -> list[str]:
    sizes = rounds(text)
    if len(sizes) != 10:
        return [f"the server's memory was seen {len(sizes)} times, after each 10 rounds expected"]
    print(f"   the server's own memory, KiB after each 10 rounds: {sizes}")
    grown = sizes[-1] - sizes[0]
    return [] if grown <= GROWTH_KIB else [f"the server's own memory grew by {grown} KiB in 90 "
                                           f"rounds, at most {GROWTH_KIB} expected: {sizes}"]


def judge_round(build: Path, results: Path) -> list[str]:
    """What is to be true whatever the port type."""
    return (rdma_log.judge(build, results) +
            wrong_memory((results / "memory.txt").read_text(encoding="utf-8")))


def judge(build: Path, results: Path) -> list[str]:
    recording = (results / "loads.trace").read_text(encoding="utf-8")
    held = firmware_pages(recording)
    return judge_round(build, results) + ([f"{held} pages are left with the firmware"]
                                          if held else [])


SCENARIO = Scenario(
    summary="Linux mlx5_ib goes and comes 100 times, and mlx5_core below it 10 times",
    script="mlx5_ib_loads.sh",
    variables={"port_type": "ib"},
    servers=[["--trace", "{results}/loads.trace", "--port-type", "ib"]],
    judge=judge,
    is_long=True)
