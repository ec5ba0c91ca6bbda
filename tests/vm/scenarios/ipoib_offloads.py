# SPDX-License-Identifier: BSD-3-Clause
#
# IP over InfiniBand as Linux's mlx5_core carries it itself, with send and receive queues behind an
# underlay queue pair, between two ports that opensm numbers.
import re
import subprocess
from pathlib import Path

import rdma_log
from scenario import Scenario

FENCE_AUDIT = "tools/fence_audit/fence-audit"
# What docs/steering.md calls the same in Linux's commands and in those of plan `underlay`.
ROOT = "SET_FLOW_TABLE_ROOT"
UNROOT = "SET_FLOW_TABLE_ROOT op_mod 0x1"
CRITERION = "CREATE_FLOW_GROUP"


def commands(trace: Path, name: str):
    """The input of each such command, as a dictionary of its fields, and as words."""
    fields: dict[str, str] | None = None
    for line in trace.read_text(encoding="utf-8").splitlines():
        if line.startswith("command "):
            words = line.split(maxsplit=2)[2]
            fields = {} if re.sub(r" 0x[0-9a-f]+", "", words, count=1).startswith(name) else None
        elif fields is not None and line == "end":
            yield fields
            fields = None
        elif fields is not None and line.startswith("in."):
            field, value = line.split(" ", 1)
            fields[field] = value


def shapes(trace: Path) -> dict[str, set[str]]:
    """Which fields such commands for an underlay fill in, without the numbers that differ."""
    roots = [fields for fields in commands(trace, ROOT) if "in.underlay_qpn" in fields]
    return {
        "the root": {" ".join(sorted(fields)) for fields in roots if "in.table_id" in fields},
        "the end of the root": {" ".join(sorted(fields)) for fields in commands(trace, UNROOT)
                                if "in.underlay_qpn" in fields},
        "the criterion": {
            fields["in.match_criteria.misc_parameters.bth_dst_qp"]
            for fields in commands(trace, CRITERION)
            if "in.match_criteria.misc_parameters.bth_dst_qp" in fields},
    }


def judge(build: Path, results: Path) -> list[str]:
    """Beside what the kernel says: the plan's commands have the shape of Linux's."""
    ours = results / "plan_underlay.trace"
    done = subprocess.run(
        [build / FENCE_AUDIT, f"model,port=ib,behaviour=data-path-ns=1000,trace={ours}",
         "--plan", "underlay", "--fences", "1"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"fence-audit of plan underlay: {done.stderr.strip()}"]
    wrong = rdma_log.judge(build, results)
    theirs, mine = shapes(results / "two.trace"), shapes(ours)
    for what, shape in theirs.items():
        if not shape or shape != mine[what]:
            wrong.append(f"{what}: Linux sends {shape}, plan underlay {mine[what]}")
    return wrong


OFFERS = ["--port-type", "ib", "--behaviour", "outside-sm", "--behaviour", "eth-offloads"]
SCENARIO = Scenario(
    summary="IPoIB of mlx5_core on underlay queue pairs, a flow of verbs on one (SOURCE_QPN)",
    script="ipoib_offloads.sh",
    servers=[[*OFFERS, "--trace", "{results}/one.trace", "--pcap", "{results}/one.pcap",
              "--wire", "stream,listen={results}/wire"],
             [*OFFERS, "--mac", "02:50:43:00:00:02", "--trace", "{results}/two.trace",
              "--wire", "stream,connect={results}/wire"]],
    programs=[FENCE_AUDIT],
    judge=judge)
