# SPDX-License-Identifier: BSD-3-Clause
#
# A driver that goes gives back all that it had: what one load leaves behind is there a hundred
# times after a hundred.
from pathlib import Path

import rdma_log
from scenario import Scenario
from scenarios.mlx5_core import firmware_pages


def judge(build: Path, results: Path) -> list[str]:
    wrong = rdma_log.judge(build, results)
    recording = (results / "loads.trace").read_text(encoding="utf-8")
    if held := firmware_pages(recording):
        wrong.append(f"{held} pages are left with the firmware")
    return wrong


SCENARIO = Scenario(
    summary="Linux mlx5_ib goes and comes 100 times, and mlx5_core below it 10 times",
    script="mlx5_ib_loads.sh",
    servers=[["--trace", "{results}/loads.trace", "--port-type", "ib"]],
    judge=judge,
    is_long=True)
