# SPDX-License-Identifier: BSD-3-Clause
#
# Linux's RDMA driver on two Ethernet ports, unmodified: RoCEv2 beside the network interfaces of
# mlx5e, one wire between them, by what Debian ships to judge one.
import subprocess
from pathlib import Path

import rdma_log
from scenario import Scenario
from scenarios import devx, netdev

# Linux's own rules of RDMA_RX meet packets then.
IN_PATH = ["--behaviour", "rdma-rx-in-path"]


def judge(build: Path, results: Path) -> list[str]:
    wrong = rdma_log.judge(build, results) + wrong_packets(results / "one.pcap")
    for name in ("mlx5_0", "mlx5_1"):
        said = (results / f"devx_{name}.txt").read_text(encoding="utf-8", errors="replace")
        wrong += [f'{name}: devx-loopback did not say "{line}"' for line in devx.EXPECTED
                  if line not in said]
    return wrong


def wrong_packets(wire: Path) -> list[str]:
    """What tshark takes for RoCEv2 on the wire there is of each service, and none of it was
    answered by a network stack that has no such port."""
    def count(shown: str) -> int:
        said = subprocess.run(["tshark", "-r", wire, "-Y", shown, "-T", "fields", "-e",
                               "frame.number"], capture_output=True, text=True, check=True)
        return len(said.stdout.split())

    # The first three bits of a BTH's opcode: RC, UC, UD.
    wrong = [f"no packet of {service} is on the wire"
             for service, shown in (("RC", "infiniband.bth.opcode < 0x20"),
                                    ("UC", "infiniband.bth.opcode in {0x20..0x3f}"),
                                    ("UD", "infiniband.bth.opcode in {0x60..0x7f}"),
                                    ("RC on the VLAN",
                                     "vlan.id == 5 && infiniband.bth.opcode < 0x20"),
                                    ("UD on the VLAN", "vlan.id == 5 && infiniband.bth.opcode in "
                                                       "{0x60..0x7f}"))
             if count(shown) == 0]
    refused = count("icmp.type == 3")
    return wrong + ([f"{refused} packets came to the network stack"] if refused else [])


SCENARIO = Scenario(
    summary="Linux mlx5_ib beside mlx5e: RoCEv2 between two ports, the RDMA CM, DevX on them",
    script="roce.sh",
    servers=[[*netdev.ONE, *IN_PATH, "--pcap", "{results}/one.pcap"], [*netdev.TWO, *IN_PATH]],
    programs=["tests/devx/devx-loopback", "tools/doctor/doctor",
              "tools/fence_audit/fence-audit"],
    judge=judge,
    is_long=True)
