# SPDX-License-Identifier: BSD-3-Clause
#
# Three ways of Linux to a disk or a file by RDMA between two ports, each with its own use of queue
# pairs and keys: NFS, iSER with protection information, SRP by the RDMA CM.
import re
from pathlib import Path

import rdma_log
from scenario import Scenario

# What an initiator, a target, a file system or the block layer says of a connection or of data
# that it lost.
TROUBLE = (r"rpcrdma: .*(?:fail|error)|nfs: server .* not responding|I/O error|protection error"
           r"|PI error|Got SIGERR|rejecting I/O|connection\d+:0: detected conn error"
           r"|ib_srp: failed \w+ status|SRP abort|reconnect|blocked for"
           r"|EXT4-fs error|EXT4-fs warning|Remounting filesystem read-only|(?:REF|GUARD) CHECK")

# What is no fault besides what rdma_log explains.
EXPLAINED = {
    r"create_qp: Create QP type 2 failed":
        "ib_srpt asks for 4,096 sends and halves that until log_max_qp_sz has room for their WQEs "
        "(srpt_create_ch_ib of ulp/srpt/ib_srpt.c); mlx5_ib says so of each it has none for",
    r"mlx5e_tc_post_act_init: firmware level support is missing":
        "as in scenario netdev, of Linux 6.1",
}


def refused(recording: str) -> list[str]:
    """The commands of a recording whose status is not OK, with it."""
    found = re.findall(r"^command \d+ (\S+) .*\n(?:(?!command ).*\n)*?status (?!OK )(\S+)",
                       recording, re.M)
    return [" ".join(words) for words in found]


def judge(_build: Path, results: Path) -> list[str]:
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    lines = re.findall(r"^<[0-7]>(.*)$", log, re.M)
    wrong = [f"the kernel says: {line}" for line in lines if re.search(TROUBLE, line)]
    for end in ("one", "two"):
        recording = (results / f"{end}.trace").read_text(encoding="utf-8")
        wrong += [f"{end} refused {command}" for command in refused(recording)]
    return wrong + rdma_log.unexplained(log, EXPLAINED)


SCENARIO = Scenario(
    summary="NFS over RDMA, iSER and SRP by Linux between two ports, each file read back",
    script="storage.sh",
    servers=[["--wire", "stream,listen={results}/wire", "--mac", "02:50:43:00:00:01",
              "--trace", "{results}/one.trace", "--behaviour", "eth-offloads"],
             ["--wire", "stream,connect={results}/wire", "--mac", "02:50:43:00:00:02",
              "--trace", "{results}/two.trace", "--behaviour", "eth-offloads"]],
    judge=judge,
    is_long=True)
