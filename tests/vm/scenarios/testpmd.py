# SPDX-License-Identifier: BSD-3-Clause
#
# DPDK's own driver of ConnectX, unmodified, over Linux's mlx5_ib: its queues by DevX, its rules by
# libmlx5, frames of testpmd between two ports.
import re
from pathlib import Path

import rdma_log
from scenario import Scenario
from scenarios import netdev
from scenarios.nic_tx import GOOD, fields

BURST = 32  # of testpmd, from each port
LEAST_ROUNDS = 3  # in six seconds; an emulated machine alone has a thousand, a busy one had ten


def judge(build: Path, results: Path) -> list[str]:
    wrong = rdma_log.judge(build, results)
    for name in ("testpmd", "again", "egress", "changes", "groups"):
        said = (results / f"{name}.txt").read_text(encoding="utf-8", errors="replace")
        wrong += [f"{name}: {line}" for line in wrong_counts(said)]
    egress = (results / "egress.txt").read_text(encoding="utf-8", errors="replace")
    groups = (results / "groups.txt").read_text(encoding="utf-8", errors="replace")
    return wrong + [f"egress: {line}" for line in wrong_rule(egress)] \
        + [f"changes: {line}" for line in wrong_changes(results / "one.pcap")] \
        + [f"groups: {line}" for line in wrong_groups(groups, results / "one.pcap")]


def wrong_groups(said: str, wire: Path) -> list[str]:
    """The rule of the second group counted what its port forwarded, and every frame that the other
    one changed is right on the wire."""
    first = said.split("Telling cores to stop")[1:2]
    came = re.findall(r"Forward statistics for port 0.*?RX-packets: (\d+)", "".join(first), re.S)
    hits = re.findall(r"hits: (\d+)", said)
    wrong = [] if hits and came and int(hits[0]) >= int(came[0]) >= LEAST_ROUNDS * BURST else \
        [f"{came} frames came, the rule counted {hits}"]
    changed = fields(wire, "ip.src == 192.0.2.10", "ip.checksum.status", "ip.ttl")
    odd = [line for line in changed if line[0] != GOOD]
    hops = {line[1] for line in changed}
    return wrong if len(hops) >= LEAST_ROUNDS and not odd else \
        wrong + [f"{len(changed)} changed frames have {len(hops)} TTLs; some are {odd[:2]}"]


def wrong_changes(wire: Path) -> list[str]:
    """Every frame on the wire is right in what its rule wrote, outermost first."""
    wrapped = fields(wire, "vxlan.vni == 7", "ip.src", "ip.checksum.status")
    odd = [line for line in wrapped
           if set(line[0].split(",")[:-1]) != {"192.0.2.7"} or set(line[1].split(",")) != {GOOD}]
    wrong = [] if len(wrapped) >= LEAST_ROUNDS * BURST and not odd else \
        [f"of {len(wrapped)} frames in VXLAN some are {odd[:2]}"]
    changed = fields(wire, "ip.src == 192.0.2.9", "udp.dstport", "ip.checksum.status", "ip.ttl")
    odd = [line for line in changed if line[:2] != ["99", GOOD]]
    hops = {line[2] for line in changed}
    return wrong if len(hops) >= LEAST_ROUNDS and not odd else \
        wrong + [f"{len(changed)} changed frames have {len(hops)} TTLs; some are {odd[:2]}"]


def wrong_rule(said: str) -> list[str]:
    """While the rule stands the first port's burst is counted and comes to nobody; the second one's
    goes round, since the first passes to it what it gets."""
    first = said.split("Telling cores to stop")[1:2]
    came = re.findall(r"Forward statistics for port \d.*?RX-packets: (\d+)", "".join(first), re.S)
    to_first, to_second = map(int, came if len(came) == 2 else (0, 0))
    wrong = [] if to_second == 0 and to_first >= LEAST_ROUNDS * BURST else \
        [f"with a rule over what the first port sends, frames came to the ports: {came}"]
    hits = re.findall(r"hits: (\d+)", said)
    return wrong + ([] if hits == [str(BURST)] else [f"the rule counted {hits}, not {BURST}"])


def wrong_counts(said: str) -> list[str]:
    """What testpmd counted when it stopped: both ports forwarded, and nothing was dropped."""
    stopped = said.rsplit("Telling cores to stop", 1)[-1]
    found = re.findall(r"Forward statistics for port (\d).*?RX-packets: (\d+)\s+RX-dropped: (\d+)"
                       r".*?TX-packets: (\d+)\s+TX-dropped: (\d+)", stopped, re.S)
    if [port for port, *_ in found] != ["0", "1"]:
        return [f"two ports were to forward: {found}"]
    wrong = [f"port {port} received {received} and sent {sent} frames"
             for port, received, _, sent, _ in found
             if min(int(received), int(sent)) < LEAST_ROUNDS * BURST]
    wrong += [f"port {port} dropped {lost} received and {unsent} to send"
              for port, _, lost, _, unsent in found if (lost, unsent) != ("0", "0")]
    return wrong + re.findall(r"^mlx5_\w+: .*(?:failed|Failed DevX|[Cc]annot).*$", stopped, re.M)


SCENARIO = Scenario(
    summary="DPDK's mlx5 driver by testpmd over Linux mlx5_ib: frames between two ports",
    script="testpmd.sh",
    servers=[[*netdev.ONE, "--pcap", "{results}/one.pcap"], netdev.TWO],
    judge=judge,
    is_long=True)
