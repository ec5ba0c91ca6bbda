# SPDX-License-Identifier: BSD-3-Clause
#
# Round trips of three commands in one guest: by rdma-core's VFIO provider and by our driver, each
# beside one trapped register read; and on a function that Linux's mlx5_ib keeps, by our driver
# through DevX and by verbs. Then whole revokes, beside what others do: ibv_dereg_mr in a loop. All
# emulated: what is compared is the drivers' own work.
import json
import statistics
from collections.abc import Callable
from pathlib import Path

from scenario import Scenario

QUERY = "a query"  # QUERY_ISSI; verbs have QUERY_QP alone
COMMANDS = ("2ERR_QP", "DESTROY_MKEY", QUERY)
READ = "register read"
TURNS = range(1, 6)


def read_json(file: Path) -> dict:
    return json.loads(file.read_text(encoding="utf-8"))


def name_of(command: str) -> str:
    return "QUERY_ISSI" if command == QUERY else command


def rdma_core(results: Path, turn: int) -> dict[str, float]:
    """Medians in nanoseconds by command."""
    report = read_json(results / f"theirs{turn}.json")
    medians = {command: report["commands"][name_of(command)]["median_ns"] for command in COMMANDS}
    return {READ: report["register_read"]["median_ns"], **medians}


def command_bench(results: Path, folder: str) -> dict[str, float]:
    report = read_json(results / folder / "command_bench.json")
    medians = {run["name"].split("/clock")[0]: run["p50"] for run in report["benchmarks"]}
    found = {command: medians[f"command/{name_of(command)}"] for command in COMMANDS}
    return {READ: medians["register_read"], **found} if "register_read" in medians else found


# Who is timed, and whether its commands ring a doorbell that traps.
WAYS: dict[str, Callable[[Path, int], dict[str, float]]] = {
    "rdma-core": rdma_core,
    "ours": lambda results, turn: command_bench(results, f"ours{turn}"),
    "ours, DevX": lambda results, turn: command_bench(results, f"devx{turn}"),
    "verbs": lambda results, turn: read_json(results / f"verbs{turn}.json"),
}


LEASES = (1, 64, 1024)
REVOKE_WAYS = ("ours, one call each", "ours, one call", "DevX, one call each", "DevX, one call",
               "ERR + dereg_mr", "dereg_mr alone")


def revoke_times(results: Path, leases: int) -> dict[str, float]:
    """Medians in nanoseconds by way; of one lease there is no call for all. A way that could not be
    measured has none."""
    times = {}
    for way, folder in (("ours", "revokes_ours"), ("DevX", "revokes_devx")):
        report = read_json(results / folder / "revoke_bench.json")
        for mode, calls in (("serial", "one call each"), ("batched", "one call")):
            name = f"revoke/plan:seed/leases:{leases}/mode:{mode}/load:none/"
            times |= {f"{way}, {calls}": run["p50"] for run in report["benchmarks"]
                      if run["name"].startswith(name) and "p50" in run}
    verbs = read_json(results / f"verbs_revoke_{leases}.json")
    return times | {"ERR + dereg_mr": verbs["to ERR and dereg_mr"],
                    "dereg_mr alone": verbs["dereg_mr"]}


def show_revokes(results: Path) -> list[str]:
    """A revoke of ours ends the queue pair, destroys the key, reads both answers and takes the
    region out of the IOMMU; of verbs the second to last column does that, in one thread, and knows
    of no deadline."""
    print(f"{'revoke, medians, us':28}" + "".join(f"{way:>21}" for way in REVOKE_WAYS))
    wrong = []
    for leases in LEASES:
        times = revoke_times(results, leases)
        print(f"{f'leases: {leases}':28}"
              + "".join(f"{times[way] / 1000:21.1f}" if way in times else f"{'-':>21}"
                        for way in REVOKE_WAYS))
        wrong += [f"{way}, {leases} leases: no time" for way in REVOKE_WAYS
                  if times.get(way, leases == 1 and way.endswith("one call")) <= 0]
    return wrong


def show(_build: Path, results: Path) -> list[str]:
    """Prints the table: the median of the turns' medians. A doorbell is a posted write, which
    nobody waits for, so a round trip can take less than a read. No figure is a verdict: the machine
    is shared."""
    print(f"{'medians of 5, us, emulated':28}" + "".join(f"{way:>12}" for way in WAYS))
    wrong = []
    for name in (READ, *COMMANDS):
        line = f"{name:28}"
        for way, read in WAYS.items():
            times = [read(results, turn).get(name) for turn in TURNS]
            if None in times:  # a register that is the kernel's
                line += f"{'-':>12}"
                continue
            line += f"{statistics.median(times) / 1000:12.1f}"
            wrong += [f"{way}, {name}: no time"] if min(times) <= 0 else []
        print(line)
    return wrong + show_revokes(results)


SCENARIO = Scenario(
    summary="three commands and whole revokes: by VFIO and DevX beside rdma-core and verbs",
    script="latency.sh",
    servers=[["--timing", "instant"],
             ["--timing", "instant", "--port-type", "ib", "--mac", "02:50:43:00:00:02"]],
    programs=["bench/command_bench", "bench/revoke_bench", "tools/vfio_peer/vfio-peer",
              "tests/devx/verbs-times"],
    deadline_s=3600,
    judge=show,
    is_long=True)
