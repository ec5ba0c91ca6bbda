# SPDX-License-Identifier: BSD-3-Clause
#
# NVMe over RDMA of Linux with protection information: T10-DIF goes with every block over the wire,
# and the functions at both ends check it, add it and take it out. Linux's block layer and its
# emulated SCSI disk, which keeps and checks what goes to it, compute it on their own.
import re
from pathlib import Path

import rdma_log
from scenario import Scenario

# What a disk, the block layer or the driver says where a signature does not match.
TROUBLE = r"I/O error|protection error|Got SIGERR|PI error|failed with status|REF CHECK|GUARD CHECK"


def judge(build: Path, results: Path) -> list[str]:
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    lines = re.findall(r"^<[0-7]>(.*)$", log, re.M)
    return [f"the kernel says: {line}" for line in lines if re.search(TROUBLE, line)] \
        + rdma_log.judge(build, results)


SCENARIO = Scenario(
    summary="NVMe over RDMA by Linux with protection information on every block",
    script="nvme_pi.sh",
    functions=["nvme_target.sh"],
    servers=[["--wire", "stream,listen={results}/wire", "--mac", "02:50:43:00:00:01",
              "--behaviour", "eth-offloads"],
             ["--wire", "stream,connect={results}/wire", "--mac", "02:50:43:00:00:02",
              "--behaviour", "eth-offloads"]],
    judge=judge,
    is_long=True)
