# SPDX-License-Identifier: BSD-3-Clause
#
# Our driver's objects by DevX on a device that Linux's mlx5_ib keeps (docs/devx.md), the kernel and
# libmlx5 unmodified.
import re
from pathlib import Path

import rdma_log
from scenario import Scenario

PROGRAM = "tests/devx/devx-loopback"
EXPECTED = ["1000 WRITEs of 64 B by DevX landed", "after DESTROY_MKEY: "]


def contexts(recording: str) -> list[str]:
    """User contexts that somebody made and nobody destroyed; none were made is wrong as well."""
    done = [command.split(" ", 2)[1] for command in recording.split("\ncommand ")[1:]
            if "UCTX" in command.split("\n", 1)[0] and re.search(r"^status OK", command, re.M)]
    made, gone = done.count("CREATE_UCTX"), done.count("DESTROY_UCTX")
    return [] if made == gone > 0 else [f"{made} user contexts were made, {gone} destroyed"]


def judge(build: Path, results: Path) -> list[str]:
    said = (results / "devx_loopback.txt").read_text(encoding="utf-8", errors="replace")
    return [f'devx-loopback did not say "{line}"' for line in EXPECTED if line not in said] \
        + contexts((results / "devx.trace").read_text(encoding="utf-8")) \
        + rdma_log.judge(build, results)


SCENARIO = Scenario(
    summary="our objects by DevX on a device that Linux mlx5_ib keeps",
    script="devx.sh",
    variables={"port_type": "ib"},
    servers=[["--trace", "{results}/devx.trace", "--port-type", "ib"]],
    programs=[PROGRAM, "bench/command_bench", "bench/revoke_bench",
              "tools/doctor/doctor", "tools/fence_audit/fence-audit"],
    judge=judge)
