# SPDX-License-Identifier: BSD-3-Clause
#
# UCX with tag matching in hardware (UCX_RC_MLX5_TM_ENABLE) between two InfiniBand ports: it takes
# the CQEs of tags apart by itself, and ends at one that it does not know
# (uct_rc_mlx5_iface_common_poll_rx of rc_mlx5.inl). Each pair of processes makes an XRQ on either
# side, or it would have matched in software.
from pathlib import Path

import rdma_log
from scenario import Scenario

WAITS = ["--port-type", "ib", "--behaviour", "outside-sm"]
PAIRS = 16


def judge(build: Path, results: Path) -> list[str]:
    wrong = []
    for side in ("one", "two"):
        made = (results / f"{side}.trace").read_text(encoding="utf-8").count(" CREATE_XRQ ")
        if made < PAIRS:
            wrong.append(f"port {side}: {made} shared receive queues with tags, "
                         f"expected: one for each of {PAIRS} pairs")
    return wrong + rdma_log.judge(build, results)


SCENARIO = Scenario(
    summary="UCX of Debian 12 matches tags in hardware between two InfiniBand ports",
    script="ucx_tags.sh",
    servers=[[*WAITS, "--trace", "{results}/one.trace", "--wire", "stream,listen={results}/wire"],
             [*WAITS, "--mac", "02:50:43:00:00:02", "--trace", "{results}/two.trace",
              "--wire", "stream,connect={results}/wire"]],
    judge=judge,
    is_long=True)
