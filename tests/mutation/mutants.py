# SPDX-License-Identifier: BSD-3-Clause
"""Breaks the driver on purpose, one place at a time, and asks who finds it: the tests or the proof.

    mutants.py [--seed N] [--count N] [--only FILE ..] [--seeded | --named [NAME ..]]
               [--list] [--check] [--table] [--build DIR] [--jobs N]

Named mutants (named.json) are replayed first: each says which test or proof finds it, and that one
must. Then --count mutants are drawn by --seed from every place where an operator applies
(operators.py), as many of each operator; they are built and run in a copy of the tree
(build/mutants), against the tests of the folder and of those above it, then the proof. One that
nothing finds has survived, unless equivalent.json says why nobody could tell the difference.

Status 0: every named mutant was found as it says, and of the seeded ones 95 % or more. 1: not so.
2: an argument, or a file whose text is no longer in the tree. 3: the unbroken tree fails.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import sys
import time

import operators
from operators import Mutant
from workbench import Program, Stopped, Workbench, copy_tree

HERE = pathlib.Path(__file__).resolve().parent
LEAST_RATE = 0.95
TEXT_COLUMNS = 110


def _gtest(folder: str, name: str) -> Program:
    return Program(name, name, (f"tests/{folder}/{name}", "--gtest_fail_fast"))


PROOF = Program("fence_proof", "fence_proof",
                ("tools/fence_proof/fence_proof", "--runs=300", "--mutant=none"))
PMD = tuple(_gtest("pmd", f"pmd_{part}_test") for part in ("control", "model", "objects",
                                                           "loopback"))
STEERING = (_gtest("steering", "steering_test"),)
LEASE = (_gtest("lease", "lease_test"),)


@dataclasses.dataclass(frozen=True)
class Area:
    """Sources of a folder, and what may find a mutant of them, the nearest first."""

    sources: tuple[str, ...]  # globs
    programs: tuple[Program, ...]


# Of pmd/ what sends commands and what becomes of them; neither EAL and VFIO nor the data path.
COMMANDS = ("command_queue", "events", "fence_commands", "firmware_pages", "function_commands",
            "hca", "health", "inline_command", "mailbox", "memory_key", "protection_domain",
            "qp_transitions", "queue_pair", "umr_queue")
AREAS = (
    Area(("lease/*.cpp",), (*LEASE, PROOF)),
    Area(("steering/*.cpp",), (*STEERING, *LEASE, PROOF)),
    Area(tuple(f"pmd/{name}.cpp" for name in COMMANDS), (*PMD, *STEERING, *LEASE, PROOF)),
)
# Of these no mutants are drawn; named ones are found by histories, or by tests of theirs.
OTHERS = (_gtest("base", "base_test"), _gtest("fleet", "fleet_test"),
          _gtest("service/daemon", "daemon_test"))
SIMULATION = Program("fleet_simulation", "fleet_simulation",
                     ("tests/fleet/simulation/fleet_simulation", "--histories=5000"))
CONFIGURE = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER=g++",
             "-DPORTCULLIS_WERROR=ON", "-DPORTCULLIS_TESTS=ON", "-DPORTCULLIS_BENCHMARKS=OFF",
             "--log-level=WARNING")


class BadInput(Exception):
    """One line that names the value and what is accepted."""


# ---- What there is to break ------------------------------------------------------------------

def all_mutants(root: pathlib.Path, areas=AREAS) -> list[Mutant]:
    found = []
    for area in areas:
        for pattern in area.sources:
            for path in sorted(root.glob(pattern)):
                inside = path.relative_to(root).as_posix()
                found += operators.mutants_of(inside, path.read_text(encoding="utf-8"))
    return found


def drawn(mutants: list[Mutant], seed: int, count: int) -> list[Mutant]:
    """`count` of them, every operator in turn, each in an order that the seed says."""
    generator = random.Random(seed)
    lanes = []
    for operator in operators.OPERATORS:
        lane = [m for m in mutants if m.operator == operator]
        generator.shuffle(lane)
        lanes.append(lane)
    chosen: list[Mutant] = []
    while len(chosen) < count and any(lanes):
        chosen += [lane.pop() for lane in lanes if lane]
    return chosen[:count]


def programs_of(path: str, areas=AREAS) -> list[Program]:
    for area in areas:
        if any(pathlib.PurePosixPath(path).match(pattern) for pattern in area.sources):
            return list(area.programs)
    folder = path.split("/")[0]
    for area in areas:
        if area.sources[0].startswith(folder + "/"):
            return list(area.programs)
    raise BadInput(f"{path}: no tests are known for '{folder}'; accepted: " +
                   ", ".join(sorted({a.sources[0].split('/')[0] for a in areas})))


# ---- The two files ---------------------------------------------------------------------------

def _words(text: str) -> str:
    return " ".join(text.split())


def read_named(root: pathlib.Path, file: pathlib.Path) -> list[dict]:
    """Every entry's text must stand in its file exactly once, else one line says which does not."""
    entries = json.loads(file.read_text(encoding="utf-8"))
    wrong = []
    for entry in entries:
        path = root / entry["file"]
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        times = text.count(entry["old"])
        if times != 1:
            wrong.append(f"{file.name}: {entry['name']}: {entry['file']} has this {times} times, "
                         f"once expected: {_words(entry['old'])}")
    if wrong:
        raise BadInput("\n".join(wrong))
    return entries


def read_equivalent(file: pathlib.Path, mutants: list[Mutant]) -> dict[tuple, str]:
    entries = json.loads(file.read_text(encoding="utf-8"))
    known = {_key(m) for m in mutants}
    keys = {(e["file"], e["operator"], _words(e["old"]), _words(e["new"])): e["why"]
            for e in entries}
    wrong = [f"{file.name}: {key[0]}: no such mutant any more: {key[1]}: {key[2]} -> {key[3]}"
             for key in keys if key not in known]
    if wrong:
        raise BadInput("\n".join(wrong))
    return keys


def _key(mutant: Mutant) -> tuple:
    return mutant.path, mutant.operator, _words(mutant.old), _words(mutant.new)


def killer_of(entry: dict, areas=AREAS) -> Program:
    """"lease_test Suite.Case", or "fence_proof --plan=x": what has to find a named mutant."""
    name, *rest = entry["killed_by"].split()
    for program in (*(each for area in areas for each in area.programs), *OTHERS, SIMULATION):
        if program.name == name:
            if name != PROOF.name and rest:  # GoogleTest's cases
                rest = [f"--gtest_filter={':'.join(rest)}"]
            return dataclasses.replace(program, command=(*program.command, *rest))
    raise BadInput(f"named.json: {entry['name']}: killed_by '{name}' is no program of the script")


def table_of(entries: list[dict]) -> str:
    """The rows of docs/mutants.md."""
    rows = [f"| `{e['name']}` | {e['what']} | `{e['file']}` | {_killer_text(e)} |" for e in entries]
    return "\n".join(["| mutant | what is broken | where | found by |", "|---|---|---|---|", *rows])


def _killer_text(entry: dict) -> str:
    name, *rest = entry["killed_by"].split()
    if name == PROOF.name:
        return "the proof" + (f" (`{' '.join(rest)}`)" if rest else "")
    if name == SIMULATION.name:
        return "the simulated fleet"
    return ", ".join(f"`{case}`" for case in rest)


# ---- The run ---------------------------------------------------------------------------------

@dataclasses.dataclass
class Tally:
    """What became of the seeded mutants."""

    verdicts: dict[str, collections.Counter] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(collections.Counter))
    survivors: list[Mutant] = dataclasses.field(default_factory=list)

    def add(self, mutant: Mutant, verdict: str) -> None:
        self.verdicts[mutant.operator][verdict] += 1
        if verdict == "survived":
            self.survivors.append(mutant)

    def total(self) -> collections.Counter:
        return sum(self.verdicts.values(), collections.Counter())

    def rate(self) -> float | None:
        """Of those that compile and are not equivalent; None when there are none."""
        total = self.total()
        killed = total["by test"] + total["by proof"]
        tried = killed + total["survived"]
        return killed / tried if tried else None

    def text(self) -> str:
        columns = ("by test", "by proof", "survived", "equivalent", "does not compile")
        lines = ["operator  " + "  ".join(f"{c:>16}" for c in columns)]
        rows = [(o, self.verdicts[o]) for o in operators.OPERATORS if o in self.verdicts]
        for name, row in [*rows, ("all", self.total())]:
            lines.append(f"{name:<10}" + "  ".join(f"{row[c]:>16}" for c in columns))
        for mutant in self.survivors:
            lines.append(f"survived: {mutant.path}:{mutant.line}: {mutant.operator}: "
                         f"{mutant.describe()}")
        rate = self.rate()
        if rate is not None:
            lines.append(f"{100 * rate:.1f} % of the seeded mutants were found, "
                         f"{100 * LEAST_RATE:.0f} % expected")
        return "\n".join(lines)


def replay(bench: Workbench, entries: list[dict], areas=AREAS) -> int:
    """How many named mutants were not found as they say."""
    missed = 0
    for entry in entries:
        text = (bench.tree / entry["file"]).read_text(encoding="utf-8")
        began_s = time.monotonic()
        found, by = bench.try_out(entry["file"], text.replace(entry["old"], entry["new"]),
                                  [killer_of(entry, areas)])
        is_missed = found in ("survived", "does not compile")
        missed += is_missed
        print(f"{'NOT FOUND' if is_missed else 'found':<10}{entry['name']:<32}"
              f"{found if found == 'does not compile' else entry['killed_by']}"
              f"{': ' + by if by and found in (PROOF.name, SIMULATION.name) else ''}"
              f"  ({time.monotonic() - began_s:.0f} s)", flush=True)
    return missed


def run_seeded(bench: Workbench, chosen: list[Mutant], equivalent: dict, areas=AREAS) -> Tally:
    tally = Tally()
    for number, mutant in enumerate(chosen, 1):
        by = ""
        if _key(mutant) in equivalent:
            verdict = "equivalent"
        else:
            text = (bench.tree / mutant.path).read_text(encoding="utf-8")
            found, by = bench.try_out(mutant.path, mutant.applied(text),
                                      programs_of(mutant.path, areas))
            verdict = found
            if found not in ("survived", "does not compile"):
                by = f"{found}: {by}"
                verdict = "by proof" if found == PROOF.name else "by test"
        tally.add(mutant, verdict)
        print(f"{number:>3}/{len(chosen)} {verdict:<17}{mutant.path}:{mutant.line} "
              f"{mutant.operator}: {mutant.describe()[:TEXT_COLUMNS]}"
              f"{'  [' + by + ']' if by else ''}", flush=True)
    return tally


# ---- The command line ------------------------------------------------------------------------

def parse(arguments: list[str]) -> argparse.Namespace:
    lines = __doc__.splitlines()
    parser = argparse.ArgumentParser(prog="mutants", description=lines[0],
                                     epilog="\n".join(lines[5:]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    number = _number(1_000_000)
    parser.add_argument("--seed", type=number, default=1, help="which mutants are drawn")
    parser.add_argument("--count", type=number, default=40, help="how many (default 40)")
    parser.add_argument("--only", action="append", default=[], metavar="FILE",
                        help="of this file or folder alone; may be given again")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seeded", action="store_true", help="no named ones")
    which.add_argument("--named", nargs="*", metavar="NAME", help="named ones alone; all, or these")
    parser.add_argument("--list", action="store_true", help="print those drawn, run nothing")
    parser.add_argument("--check", action="store_true", help="check the two files, run nothing")
    parser.add_argument("--table", action="store_true", help="print the rows of docs/mutants.md")
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parent.parent,
                        help=argparse.SUPPRESS)
    parser.add_argument("--build", type=pathlib.Path, help="where the copy is (build/mutants)")
    parser.add_argument("--jobs", type=_number(1024), default=os.cpu_count() or 1,
                        help="compilers at a time")
    return parser.parse_args(arguments)


def _number(most: int):
    def parse_number(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) > most:
            raise argparse.ArgumentTypeError(f"'{text}': 0 to {most} expected")
        return int(text)
    return parse_number


def selected(mutants: list[Mutant], only: list[str]) -> list[Mutant]:
    for name in only:
        if not any(m.path == name or m.path.startswith(name.rstrip("/") + "/") for m in mutants):
            raise BadInput(f"--only {name}: no mutant of it; accepted: "
                           f"{', '.join(sorted({m.path for m in mutants}))}")
    return [m for m in mutants
            if not only or any(m.path == n or m.path.startswith(n.rstrip("/") + "/")
                               for n in only)]


def named_entries(options: argparse.Namespace) -> list[dict]:
    entries = read_named(options.root, HERE / "named.json")
    if options.seeded:
        return []
    names = {e["name"] for e in entries}
    for name in options.named or []:
        if name not in names:
            raise BadInput(f"--named {name}: accepted: {', '.join(sorted(names))}")
    return [e for e in entries
            if (not options.named or e["name"] in options.named)
            and (not options.only or any(e["file"].startswith(n) for n in options.only))]


def run(options: argparse.Namespace) -> int:
    mutants = all_mutants(options.root)
    equivalent = read_equivalent(HERE / "equivalent.json", mutants)
    entries = named_entries(options)
    if options.table:
        print(table_of(entries))
        return 0
    if options.check:
        print(f"{len(entries)} named, {len(equivalent)} equivalent, {len(mutants)} possible")
        return 0
    chosen = drawn(selected(mutants, options.only), options.seed, options.count)
    if options.named is not None:
        chosen = []
    if options.list:
        for mutant in chosen:
            print(f"{mutant.path}:{mutant.line}: {mutant.operator}: {mutant.describe()}")
        return 0
    where = (options.build or options.root / "build/mutants").resolve()
    copy_tree(options.root, where / "tree")
    launcher = where / "tree/tests/mutation/launch.sh"
    bench = Workbench(where / "tree", where / "tree/build/release", options.jobs,
                      (*CONFIGURE, f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"))
    programs = {p.command: p for path in sorted({m.path for m in chosen})
                for p in programs_of(path)}
    programs |= {p.command: p for p in map(killer_of, entries)}
    bench.prepare(list(programs.values()))
    missed = replay(bench, entries)
    tally = run_seeded(bench, chosen, equivalent)
    if entries:
        print(f"{len(entries) - missed} of {len(entries)} named mutants were found")
    if chosen:
        print(tally.text())
    rate = tally.rate()
    return 0 if missed == 0 and (rate is None or rate >= LEAST_RATE) else 1


def main(arguments: list[str]) -> int:
    try:
        return run(parse(arguments))
    except BadInput as error:
        print("\n".join(f"mutants: {line}" for line in str(error).splitlines()), file=sys.stderr)
        return 2
    except Stopped as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
