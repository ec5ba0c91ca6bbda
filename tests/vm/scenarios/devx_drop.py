# SPDX-License-Identifier: BSD-3-Clause
#
# DROP entries of RDMA_RX on a device that Linux's mlx5_ib keeps (docs/devx.md): a flow table of
# DevX, and rules of the kernel's that lead into it. Kernel and libmlx5 unmodified.
import re
from pathlib import Path

import rdma_log
from scenario import Scenario

PROGRAM = "tests/devx/devx-drop"
EXPECTED = ["RDMA_RX dst-qp (scope lease), verified: stops new and running connections",
            "before the entry: landed",
            "under the entry: silence, and memory is as it was",
            "another QP beside it: landed",
            "the entry taken away: landed",
            "32 entries came and went, the longest in "]
# What makes an object of flow steering, and what takes it away.
PAIRS = [("CREATE_FLOW_TABLE", "DESTROY_FLOW_TABLE"), ("CREATE_FLOW_GROUP", "DESTROY_FLOW_GROUP"),
         ("SET_FLOW_TABLE_ENTRY", "DELETE_FLOW_TABLE_ENTRY")]
# Linux 6.1 says so of an Ethernet port without ignore_flow_level (netdev.EXPLAINED).
TC_OF_6_1 = "mlx5e_tc_post_act_init: firmware level support is missing"
RDMA_RX = "in.table_type 0x7\n"


def of_rdma_rx(recording: Path) -> list[str]:
    """Names of the commands on flow tables of RDMA_RX that succeeded; changing is no making."""
    said = recording.read_text(encoding="utf-8").split("\ncommand ")[1:]
    return [command.split(" ", 2)[1] for command in said
            if RDMA_RX in command and re.search(r"^status OK", command, re.M)
            and not re.match(r"\S+ SET_FLOW_TABLE_ENTRY \S+ op_mod 0x1$", command.split("\n")[0])]


def left(name: str, commands: list[str]) -> list[str]:
    counted = [(makes, commands.count(makes), commands.count(ends)) for makes, ends in PAIRS]
    return [f"{name}: {made} times {makes}, {gone} taken away" for makes, made, gone in counted
            if made != gone or made == 0]


def missing(results: Path, name: str) -> list[str]:
    said = (results / f"{name}.txt").read_text(encoding="utf-8", errors="replace")
    return [f'{name}: devx-drop did not say "{line}"' for line in EXPECTED if line not in said]


def judge(build: Path, results: Path) -> list[str]:
    ethernet, infiniband = (of_rdma_rx(results / f"{port}.trace") for port in ("eth", "ib"))
    roots = ("SET_FLOW_TABLE_ROOT" in ethernet, "SET_FLOW_TABLE_ROOT" in infiniband)
    wrong = [line for line in rdma_log.judge(build, results) if TC_OF_6_1 not in line]
    if roots != (True, False):
        wrong.append(f"a root of RDMA_RX on the Ethernet port, on the InfiniBand port: {roots}")
    return wrong + missing(results, "drop") + missing(results, "drop_again") \
        + left("eth", ethernet) + left("ib", infiniband)


SCENARIO = Scenario(
    summary="DROP entries by DevX on devices that Linux mlx5_ib keeps",
    script="devx_drop.sh",
    servers=[["--trace", "{results}/eth.trace", "--behaviour", "eth-offloads+rdma-rx-in-path"],
             ["--trace", "{results}/ib.trace", "--port-type", "ib",
              "--behaviour", "rdma-rx-in-path"]],
    programs=[PROGRAM, "tools/fence_audit/fence-audit"],
    judge=judge)
