# SPDX-License-Identifier: BSD-3-Clause
#
# Priorities as a host sets them: Linux's mlx5e with iproute2's dcb and ethtool on two functions of
# one wire. What the driver says in the kernel's log at the level of a warning or above is a fault.
import re
from pathlib import Path

from scenario import Scenario
from scenarios import mlx5_core, netdev

PINGS = 20


def judge(_build: Path, results: Path) -> list[str]:
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    wrong = [f"mlx5_core says: {line}" for line in mlx5_core.lines_of_the_driver(log)
             if not any(re.search(known, line) for known in netdev.EXPLAINED)]
    wrong += re.findall(r"WARNING: .*|BUG: .*|Oops.*", log)
    one, two = (netdev.counters(results / f"ethtool_{name}.txt") for name in ("one", "two"))
    wrong += wrong_counts(one, two)
    return wrong


def wrong_counts(one: dict[str, int], two: dict[str, int]) -> list[str]:
    """`one` pinged with DSCP 24, which both have in priority 3, and a program at `two` sent it one
    frame that stops this priority and one that lets it go: by itself that port stopped nobody."""
    wanted = [("one", one, "rx_prio3_pause", 2), ("one", one, "rx_prio3_pause_transition", 1),
              ("one", one, "rx_mac_control_phy", 2), ("two", two, "tx_prio3_pause", 0),
              ("one", one, "tx_prio3_packets", PINGS), ("two", two, "rx_prio3_packets", PINGS)]
    return [f"{name}: {key} is {counts.get(key)}, and {value} is wanted"
            for name, counts, key, value in wanted if counts.get(key) != value]


SCENARIO = Scenario(
    summary="Linux mlx5e by dcb and ethtool: traffic classes, flow control of priorities, FEC",
    script="dcb.sh",
    servers=[netdev.ONE, netdev.TWO],
    judge=judge,
    is_long=True)
