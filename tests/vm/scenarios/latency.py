# SPDX-License-Identifier: BSD-3-Clause
#
# Round trips of three commands in one guest, by rdma-core's VFIO provider and by our driver, each
# beside one trapped register read. All emulated: what is compared is the two drivers' own work.
import json
import statistics
from pathlib import Path

from scenario import Scenario

COMMANDS = ("2ERR_QP", "DESTROY_MKEY", "QUERY_ISSI")
READ = "register read"
TURNS = range(1, 6)


def read_json(file: Path) -> dict:
    return json.loads(file.read_text(encoding="utf-8"))


def theirs(results: Path, turn: int) -> dict[str, float]:
    """Medians in nanoseconds by command."""
    report = read_json(results / f"theirs{turn}.json")
    medians = {name: report["commands"][name]["median_ns"] for name in COMMANDS}
    return {READ: report["register_read"]["median_ns"], **medians}


def ours(results: Path, turn: int) -> dict[str, float]:
    report = read_json(results / f"ours{turn}/command_bench.json")
    medians = {run["name"].split("/clock")[0]: run["p50"] for run in report["benchmarks"]}
    return {READ: medians["register_read"],
            **{name: medians[f"command/{name}"] for name in COMMANDS}}


def show(_build: Path, results: Path) -> list[str]:
    """Prints the table: the median of the turns' medians, and the same less a register read. A
    doorbell is a posted write, which nobody waits for, so a round trip can take less than a read.
    No figure is a verdict: the machine is shared."""
    def median(of, name):
        return statistics.median(of(results, turn)[name] for turn in TURNS)

    print(f"{'medians of 5, us, emulated':28}{'rdma-core':>10}{'ours':>10}   less a read")
    for name in (READ, *COMMANDS):
        values = [median(of, name) / 1000 for of in (theirs, ours)]
        less = [value - median(of, READ) / 1000 for value, of in zip(values, (theirs, ours))]
        print(f"{name:28}" + "".join(f"{value:10.1f}" for value in values) +
              ("" if name == READ else "   " + "".join(f"{value:10.1f}" for value in less)))
    return [f"{name}: no time" for name in (READ, *COMMANDS)
            if min(median(theirs, name), median(ours, name)) <= 0]


SCENARIO = Scenario(
    summary="round trips of three commands: ours beside rdma-core's VFIO provider",
    script="latency.sh",
    servers=[["--timing", "instant"]],
    programs=["bench/command_bench", "tools/vfio_peer/vfio-peer"],
    judge=show)
