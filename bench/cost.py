#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the driver and the classifier cost: instructions by callgrind, and the lease table's bytes.

    cost.py COST_PROBE [--iterations=N] [--detail]

Runs the program bench/cost_probe of a build under valgrind once a figure, prints figure, limit and
verdict, and exits 1 when a limit is exceeded. Only our own instructions are counted: collection is
on inside the probed call and off again inside relax(), where the model works, and whatever a
function of the model still adds (its clock) is left out. --detail lists where they are spent.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# name of the probe, what it is, limit in instructions, one of how many iterations is run: what
# takes a million instructions needs no thousand of them
INSTRUCTIONS = (
    ("command", "inline command, fill to decoded result", 395, 1),
    ("post", "RDMA WRITE of 64 B, post and doorbell", 70, 1),
    ("poll", "successful CQE, poll", 50, 1),
    ("rules", "advice by rule, dump of 64 requests", 900_000, 50),
    ("advice", "the same, from JSON to JSON", 11_900_000, 50),
)
TABLE_SLOTS = 65_000
TABLE_LIMIT_BYTES = 16 << 20
MODEL = re.compile(r"^portcullis::model::")


class CostError(Exception):
    """One line for the user."""


def run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except FileNotFoundError:
        raise CostError(f"{command[0]}: not found; it is in the Debian package valgrind") from None
    except subprocess.TimeoutExpired:
        raise CostError(f"{' '.join(command)}: not finished after 600 s") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise CostError(f"{' '.join(command)}: exit {done.returncode}: {last}")
    return done.stdout


def self_cost(profile: str) -> dict[str, int]:
    """Instructions by function, without those of the functions it calls.

    The line behind `calls=` is the cost of the call, counted in the callee already.
    """
    cost: dict[str, int] = {}
    function = ""
    is_call = False
    for line in profile.splitlines():
        if line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"^[+\-*\d]", line):
            if not is_call:
                cost[function] = cost.get(function, 0) + int(line.split()[1])
            is_call = False
    return cost


def instructions(probe: pathlib.Path, name: str, iterations: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        run([
            "valgrind", "--tool=callgrind", "--quiet", "--collect-atstart=no",
            f"--toggle-collect=portcullis_cost_{name}*", "--toggle-collect=portcullis_cost_relax*",
            "--compress-strings=no", "--compress-pos=no", f"--callgrind-out-file={out}",
            str(probe), name, str(iterations),
        ])
        cost = self_cost(out.read_text(encoding="utf-8"))
    ours = {f: n / iterations for f, n in cost.items() if not MODEL.match(f)}
    if not ours:
        raise CostError(f"{probe} {name}: callgrind saw no call of portcullis_cost_{name}")
    return ours


def table_bytes(probe: pathlib.Path) -> int:
    return int(run([str(probe), "table", str(TABLE_SLOTS)]))


def row(what: str, figure: str, limit: str, is_met: bool) -> str:
    return f"{what:<44} {figure:>14} {limit:>14}  {'ok' if is_met else 'EXCEEDED'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("probe", type=pathlib.Path, help="build/release/bench/cost_probe")
    parser.add_argument("--iterations", type=int, default=1000, help="default 1000")
    parser.add_argument("--detail", action="store_true", help="list the functions")
    arguments = parser.parse_args()
    if arguments.iterations < 1:
        parser.error(f"--iterations={arguments.iterations}: at least 1")

    all_met = True
    details = []
    print(f"{'cost':<44} {'figure':>14} {'limit':>14}  verdict")
    for name, what, limit, share in INSTRUCTIONS:
        cost = instructions(arguments.probe, name, max(1, arguments.iterations // share))
        figure = sum(cost.values())
        all_met &= figure <= limit
        print(row(what, f"{figure:.1f} instr", f"{limit} instr", figure <= limit), flush=True)
        details += [(name, n, f) for f, n in sorted(cost.items(), key=lambda i: -i[1]) if n >= 0.05]
    size = table_bytes(arguments.probe)
    all_met &= size <= TABLE_LIMIT_BYTES
    print(row(f"lease table, {TABLE_SLOTS} slots", f"{size / 2**20:.2f} MiB",
              f"{TABLE_LIMIT_BYTES / 2**20:.0f} MiB", size <= TABLE_LIMIT_BYTES))
    if arguments.detail:
        for name, count, function in details:
            print(f"{name:<8} {count:>8.1f}  {function}")
    return 0 if all_met else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CostError as error:
        print(f"cost.py: {error}", file=sys.stderr)
        sys.exit(1)
