#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two runs of ./dev bench, percentile by percentile.

    compare.py BEFORE AFTER [--filter REGEX] [--all]

BEFORE and AFTER are directories that ./dev bench wrote. A series is compared by p50 and by the
highest percentile that both sides have enough samples for.

"deterministic": one value on the virtual clock, so any difference is one.
On the wall clock a difference is told from noise by repetitions alone: the ratio of the medians
of the repetitions' percentiles, and where 95 % of it lies by bootstrap over the repetitions. It is
a difference when 1 lies outside: of twenty percentiles that are the same, one looks different by
chance. With fewer than 5 repetitions on a side nothing is claimed; take more with

    ./dev bench --out-dir=DIR --benchmark_repetitions=10

exit status: 0 no difference was shown, 1 bad arguments, 3 some series differ or are on one side
only
"""

import argparse
import pathlib
import random
import re
import sys
from statistics import median

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import files  # noqa: E402  pylint: disable=wrong-import-position

LEAST_REPETITIONS = 5  # the bootstrap of fewer is far too sure of itself
RESAMPLES = 2000
SEED = 20  # the same two runs give the same answer
DIFFERS = 3


def ratio_interval(before: list[float], after: list[float]) -> tuple[float, float]:
    """Where 95 % of median(after) / median(before) lies, by bootstrap over the repetitions."""
    source = random.Random(SEED)
    ratios = sorted(median(source.choices(after, k=len(after))) /
                    median(source.choices(before, k=len(before))) for _ in range(RESAMPLES))
    return ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES) - 1]


def verdict(before: files.Series, after: files.Series, counter: str) -> tuple[str, bool]:
    """What is said of one percentile, and whether it is a difference."""
    old, new = before.values(counter), after.values(counter)
    if before.is_one_value and after.is_one_value:
        same = old[0] == new[0]
        return ("the same, deterministic" if same else "differs, deterministic"), not same
    if min(len(old), len(new)) < LEAST_REPETITIONS:
        return (f"not told from noise: {len(old)} and {len(new)} repetitions, "
                f"{LEAST_REPETITIONS} wanted"), False
    if min(old) <= 0:
        return "not told: a time of 0 has no ratio", False
    low, high = ratio_interval(old, new)
    text = f"95 % of the ratio in {low:.3g} to {high:.3g}"
    if low > 1 or high < 1:
        return f"{text}: {'slower' if low > 1 else 'faster'}", True
    return f"{text}: noise", False


def counters_of(before: files.Series, after: files.Series) -> list[str]:
    """p50, and the highest percentile that stands in every repetition of both."""
    def has(counter: str) -> bool:
        return all(counter in each for each in before.repetitions + after.repetitions)
    highest = [counter for counter in ("p90", "p99", "p999") if has(counter)][-1:]
    if before.is_one_value and after.is_one_value:
        highest = []
    return [counter for counter in ("p50", *highest) if has(counter)]


def row(before: files.Series, after: files.Series, counter: str) -> tuple[str, bool]:
    old, new = median(before.values(counter)), median(after.values(counter))
    said, differs = verdict(before, after, counter)
    ratio = f"{new / old:9.3g}" if old > 0 else f"{'-':>9}"
    return (f"{counter:>5} {files.duration_text(old):>9} {files.duration_text(new):>9} {ratio}  "
            f"{said}"), differs


def contexts_differ(before: list[files.Program], after: list[files.Program]) -> list[str]:
    """What else than the code differs."""
    lines = []
    old = {(each.folder, each.name): each.context for each in before}
    for program in after:
        other = old.get((program.folder, program.name), program.context)
        for key in ("device", "emulated", "lcores", "lcore_findings", "project_build_type", "dpdk",
                    "host_name"):
            if other.get(key) != program.context.get(key):
                where = "/".join(filter(None, (program.folder, program.name)))
                lines.append(f"{where}: {key}: {other.get(key)} | {program.context.get(key)}")
    return lines


def compare(before: list[files.Program], after: list[files.Program], wanted: re.Pattern,
            is_all: bool) -> tuple[list[str], int]:
    """The lines of the table, and how many series differ or are on one side only."""
    old = {one.key: one for each in before for one in each.series if wanted.search(one.name)}
    new = {one.key: one for each in after for one in each.series if wanted.search(one.name)}
    if not old and not new:
        raise files.RunError(f"--filter {wanted.pattern!r}: no series has such a name")
    lines, differing, same = [], 0, 0
    for key in dict.fromkeys([*old, *new]):
        name = "/".join(filter(None, key))
        if key not in old or key not in new:
            lines.append(f"{name}\n      only in the {'second' if key in new else 'first'} run")
            differing += 1
            continue
        pair = (old[key], new[key])
        failed = [one.error for one in pair if one.error or not one.repetitions]
        if failed:
            lines.append(f"{name}\n      not measured: {failed[0] or 'no result'}")
            differing += 1
            continue
        rows = [row(*pair, counter) for counter in counters_of(*pair)]
        if any(differs for _, differs in rows):
            differing += 1
        elif not is_all and pair[0].is_one_value and pair[1].is_one_value:
            same += 1
            continue
        lines += [name, *(text for text, _ in rows)]
    if same:
        lines.append(f"{same} deterministic series are the same on both sides (--all lists them)")
    return lines, differing


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev compare", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="./dev compare BEFORE AFTER [--filter REGEX] [--all]")
    parser.add_argument("before", metavar="BEFORE")
    parser.add_argument("after", metavar="AFTER")
    parser.add_argument("--filter", default="", metavar="REGEX", help="series whose name has it")
    parser.add_argument("--all", action="store_true", help="deterministic ones that agree, too")
    parser.error = lambda message: (_ for _ in ()).throw(files.RunError(message))
    try:
        options = parser.parse_args(arguments)
        try:
            wanted = re.compile(options.filter)
        except re.error as error:
            raise files.RunError(f"--filter {options.filter!r}: {error}") from None
        before, after = files.read_run(options.before), files.read_run(options.after)
        lines, differing = compare(before, after, wanted, options.all)
    except files.RunError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 1
    for line in contexts_differ(before, after):
        print(f"not under the same conditions: {line}")
    print(f"{'':>5} {'before':>9} {'after':>9} {'ratio':>9}")
    print("\n".join(lines))
    print(f"\n{differing} series differ or are on one side only" if differing else
          "\nno difference was shown")
    return DIFFERS if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
