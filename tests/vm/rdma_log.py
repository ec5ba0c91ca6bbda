# SPDX-License-Identifier: BSD-3-Clause
#
# What the kernel says while its RDMA driver runs, and what of it is no fault.
"""Judges a guest's dmesg."""

import re
from pathlib import Path

# Lines at the level of a warning or above of mlx5_core, mlx5_ib and the core of RDMA, and why they
# are no fault.
EXPLAINED = {
    r"mlx5_pci_vsc_init: Failed to get valid vendor specific ID":
        "as in scenario mlx5_core: of a card whose gateway to crash dumps is hidden",
}


def lines_of_rdma(log: str) -> list[str]:
    """What was said with dev_warn, pr_warn or worse, without its time."""
    said = re.findall(r"^<[0-4]>\[[^\]]*\] ((?:mlx5_|infiniband|ib_).*)$", log, re.M)
    return [re.sub(r":\d+:\(pid \d+\)", "", line) for line in said]


def unexplained(log: str, explained: dict[str, str]) -> list[str]:
    """What is wrong in a log where the lines of `explained` are no fault either."""
    wrong = [f"the kernel says: {line}" for line in lines_of_rdma(log)
             if not any(re.search(known, line) for known in [*EXPLAINED, *explained])]
    return wrong + re.findall(r"WARNING: .*|BUG: .*|Oops.*|DMAR: .*[Ff]ault.*", log)


def judge(_build: Path, results: Path) -> list[str]:
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    return unexplained(log, {})
