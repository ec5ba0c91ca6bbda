# SPDX-License-Identifier: BSD-3-Clause
#
# Rules over what a port sends (flow tables of NIC_TX), placed through Linux's mlx5_ib by libmlx5:
# whether frames leave is said by the other end, by the rule's own counter and by a recording.
import subprocess
from pathlib import Path

import rdma_log
from scenario import Scenario
from scenarios import netdev

REQUEST = 8  # types of ICMP
ANSWER = 0
HEADERS = 20 + 8
# Of pings of so many bytes, each sent five times: how many requests and answers are on the wire.
WANTED = {99: (0, 0),   # from the port with the rule, twice
          98: (5, 5),   # the same while the rule is about UDP
          97: (5, 0),   # to that port, which may not answer
          96: (5, 5)}   # after the rules


def judge(build: Path, results: Path) -> list[str]:
    wire = results / "one.pcap"
    wrong = rdma_log.judge(build, results)
    for size, wanted in WANTED.items():
        found = tuple(count(wire, kind, size) for kind in (REQUEST, ANSWER))
        if found != wanted:
            wrong.append(f"of pings of {size} bytes {wanted} requests and answers are to be on the "
                         f"wire, there are {found}")
    return wrong


def count(wire: Path, kind: int, size: int) -> int:
    """As tshark reads them."""
    shown = f"icmp.type == {kind} && ip.len == {size + HEADERS}"
    said = subprocess.run(["tshark", "-r", wire, "-Y", shown, "-T", "fields", "-e", "frame.number"],
                          capture_output=True, text=True, check=True)
    return len(said.stdout.split())


SCENARIO = Scenario(
    summary="Rules over what a port sends, by Linux mlx5_ib and libmlx5 beside mlx5e",
    script="nic_tx.sh",
    servers=[[*netdev.ONE, "--pcap", "{results}/one.pcap"], netdev.TWO],
    judge=judge,
    is_long=True)
