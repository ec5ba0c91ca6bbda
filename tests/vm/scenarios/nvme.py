# SPDX-License-Identifier: BSD-3-Clause
#
# Three functions on one wire, the first one's server the switch between them: NVMe over RDMA of
# Linux between two of them, and leases of our driver that are revoked beside it.
import re
from pathlib import Path

import rdma_log
from scenario import Scenario

PORTS = 3
# What nvme and nvmet say of a connection that fails, where a timeout of a request is a warning, and
# what ext4 and the block layer say of what they lost.
TROUBLE = (r"error recovery|I/O.*timeout|failed with status|Reconnecting|I/O error|keep-alive"
           r"|blocked for|EXT4-fs error|EXT4-fs warning|read-only|critical target error")


def judge(build: Path, results: Path) -> list[str]:
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    lines = re.findall(r"^<[0-7]>(.*(?:nvme|EXT4|blocked for|Buffer I/O).*)$", log, re.M)
    wrong = [f"the kernel says: {line}" for line in lines if re.search(TROUBLE, line)]
    said = (results / "lease.serve.txt").read_text(encoding="utf-8", errors="replace")
    if "TornDown" not in said:
        wrong.append("the third function's lease did not end TornDown")
    return wrong + rdma_log.judge(build, results)


def server(number: int) -> list[str]:
    """Each of the others is at a socket of the first."""
    ends = ([f"stream,connect={{results}}/wire{number}"] if number else
            [f"stream,listen={{results}}/wire{other}" for other in range(1, PORTS)])
    return [*(word for end in ends for word in ("--wire", end)),
            "--pcap", f"{{results}}/{number}.pcap", "--mac", f"02:50:43:00:00:0{number + 1}",
            "--behaviour", "eth-offloads"]


SCENARIO = Scenario(
    summary="NVMe over RDMA by Linux on two ports, leases revoked there and on a third",
    script="nvme.sh",
    functions=["nvme_target.sh"],
    servers=[server(number) for number in range(PORTS)],
    programs=["tools/fence_audit/fence-audit", "tools/lease_serve/lease-serve",
              "tools/lease_verify/lease-verify"],
    judge=judge,
    is_long=True)
