# SPDX-License-Identifier: BSD-3-Clause
#
# The program behind ./dev vm and the ctests labelled vm.
"""Runs scenarios in a virtual machine; 0 when all of them passed."""

import argparse
import sys
import time
from pathlib import Path

import scenario
from vm_tree import KERNELS, VmError


def described(name: str) -> str:
    found = scenario.load(name)
    return f"  {name:16} {found.summary}{' (long)' if found.is_long else ''}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev vm", description=__doc__, formatter_class=argparse.RawTextHelpFormatter,
        epilog="scenarios:\n" + "\n".join(described(name) for name in scenario.names()))
    parser.add_argument("names", metavar="NAME", nargs="*",
                        help="scenarios (default all but those that say long)")
    parser.add_argument("--all", action="store_true", help="every scenario, the long ones too")
    parser.add_argument("--kernel", metavar="N", choices=list(KERNELS),
                        help=f"Debian's: {' or '.join(KERNELS)} (default the scenario's own)")
    parser.add_argument("--build", metavar="DIR", type=Path, default=Path("build/release"),
                        help="where the programs were built (default build/release)")
    parser.add_argument("--programs", action="store_true",
                        help="print what the scenarios run, as paths below --build, and end")
    parser.add_argument("--results", metavar="DIR", type=Path, default=Path("results/vm"),
                        help="console, logs and recordings, a folder each (default results/vm)")
    arguments = parser.parse_args()
    if arguments.names and arguments.all:
        parser.error("--all beside names; accepted: one or the other")
    names = arguments.names or (scenario.names() if arguments.all else scenario.short_names())
    if arguments.programs:
        try:
            print(*scenario.programs(names), sep="\n")
        except VmError as error:
            print(f"vm: {error}", file=sys.stderr)
            return 1
        return 0
    failed = []
    for name in names:
        started = time.monotonic()
        try:
            wrong = scenario.run(name, arguments.build.resolve(),
                                 (arguments.results / name).resolve(), arguments.kernel)
        except VmError as error:
            wrong = [str(error)]
        failed += [f"vm: {name}: {line}" for line in wrong]
        verdict = "FAILED" if wrong else "passed"
        print(f"vm: {name} {verdict} ({time.monotonic() - started:.0f} s)", flush=True)
    # Last, where whoever reads only the end of a long log finds them.
    for line in failed:
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
