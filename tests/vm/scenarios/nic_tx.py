# SPDX-License-Identifier: BSD-3-Clause
#
# Rules over what a port sends (flow tables of NIC_TX), placed through Linux's mlx5_ib by libmlx5:
# whether frames leave, and how, is said by the other end, by the rule's own counter and by a
# recording.
import subprocess
from pathlib import Path

import rdma_log
from scenario import Scenario
from scenarios import netdev

REQUEST = 8  # types of ICMP
ANSWER = 0
HEADERS = 20 + 8
LEAST_SEGMENTS = 100  # in two seconds of TCP
# Of pings of so many bytes, each sent five times: how many requests and answers are on the wire.
WANTED = {99: (0, 0),   # from the port with the rule, twice
          98: (5, 5),   # the same while the rule is about UDP
          97: (5, 0),   # to that port, which may not answer
          96: (5, 5),   # after the rules
          95: (5, 0)}   # in VXLAN, where nobody answers
VXLAN = "udp.dstport == 4789 && vxlan.vni == 7"
CHANGED = "ip.src == 192.0.2.1 && tcp && ip.dsfield.dscp == 46"
GOOD = "1"  # of tshark's words for a checksum


def judge(build: Path, results: Path) -> list[str]:
    wire = results / "one.pcap"
    wrong = rdma_log.judge(build, results)
    for size, wanted in WANTED.items():
        found = tuple(count(wire, kind, size) for kind in (REQUEST, ANSWER))
        if found != wanted:
            wrong.append(f"of pings of {size} bytes {wanted} requests and answers are to be on the "
                         f"wire, there are {found}")
    return wrong + wrong_changes(wire)


def wrong_changes(wire: Path) -> list[str]:
    """Of frames that the first port changed as it sent them: headers, with right checksums."""
    wrapped = fields(wire, VXLAN, "ip.len", "udp.length", "ip.checksum.status")
    # Of the outer header, then of the inner one.
    inner = 95 + HEADERS
    wanted = [f"{inner + 14 + 8 + 8 + 20},{inner}", f"{inner + 14 + 8 + 8}", f"{GOOD},{GOOD}"]
    wrong = [] if wrapped == 5 * [wanted] else [f"in VXLAN are {wrapped}, not five of {wanted}"]
    changed = fields(wire, CHANGED, "ip.ttl", "ip.checksum.status", "tcp.checksum.status")
    odd = [words for words in changed if words != ["63", GOOD, GOOD]]
    if len(changed) < LEAST_SEGMENTS or odd:
        wrong.append(f"of {len(changed)} changed segments some are {odd[:3]}")
    return wrong


def fields(wire: Path, shown: str, *names: str) -> list[list[str]]:
    """As tshark reads them, checksums looked at."""
    words = [word for name in names for word in ("-e", name)]
    said = subprocess.run(["tshark", "-r", wire, "-Y", shown, "-o", "ip.check_checksum:TRUE",
                           "-o", "tcp.check_checksum:TRUE", "-T", "fields", *words],
                          capture_output=True, text=True, check=True)
    return [line.split("\t") for line in said.stdout.splitlines()]


def count(wire: Path, kind: int, size: int) -> int:
    """As tshark reads them."""
    return len(fields(wire, f"icmp.type == {kind} && ip.len == {size + HEADERS}", "frame.number"))


SCENARIO = Scenario(
    summary="Rules over what a port sends, by Linux mlx5_ib and libmlx5 beside mlx5e",
    script="nic_tx.sh",
    servers=[[*netdev.ONE, "--pcap", "{results}/one.pcap"], netdev.TWO],
    judge=judge,
    is_long=True)
