# SPDX-License-Identifier: BSD-3-Clause
"""A copy of the tree with a build of its own, in which one mutant after the other is built and run.

The tree it copies is never changed. What was built once stays, so a mutant costs one object, its
archive and the links. The suites of a test that take most of its time run behind the others, for
nearly every mutant is found without them. A program that takes more than its share of processor
time, or of memory, is ended: a mutant that hangs counts as found.
"""

import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys

LEFT_OUT = {"build", "results", ".git", "__pycache__"}
MOST_MEMORY = 4 << 30
LEAST_CPU_S = 10  # that a program may take before it is taken for one that hangs
LEAST_SLOW_S = 1.0  # that a suite of tests takes, else it is not put behind the others
WALL_PER_CPU = 20  # a machine may be that busy before a program that sleeps is taken for dead


@dataclasses.dataclass(frozen=True)
class Program:
    """A test or the proof: `target` is built, `command` run in the build folder, 0 is a pass."""

    name: str
    target: str
    command: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Outcome:
    is_found: bool
    by: str = ""  # the test case, or how the program ended


class Stopped(Exception):
    """The workbench cannot go on; one line says why."""


def copy_tree(source: pathlib.Path, target: pathlib.Path) -> None:
    """Files that differ are written, files that are gone are removed; others keep their time."""
    wanted = set()
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        for name in names:
            path = pathlib.Path(folder) / name
            if not path.is_file() or path.is_symlink():
                continue
            inside = path.relative_to(source)
            wanted.add(inside)
            copy = target / inside
            if copy.is_file() and copy.read_bytes() == path.read_bytes():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
            os.utime(copy)
    for path in sorted(target.rglob("*")) if target.is_dir() else []:
        inside = path.relative_to(target)
        if path.is_file() and inside not in wanted and inside.parts[0] not in LEFT_OUT:
            path.unlink()


class Workbench:
    def __init__(self, tree: pathlib.Path, build: pathlib.Path, jobs: int,
                 configure: tuple[str, ...]):
        self.tree, self.build, self.jobs = tree, build, jobs
        self._configure = configure
        self.least_cpu_s = LEAST_CPU_S
        self._cpu_s: dict[tuple[str, ...], float] = {}  # by command
        self._parts: dict[tuple[str, ...], list[Program]] = {}  # by command, the fast one first

    def prepare(self, programs: list[Program]) -> None:
        """Configures, builds and runs everything once: unbroken, it has to pass."""
        self._check(["cmake", "-S", str(self.tree), "-B", str(self.build), *self._configure],
                    "configuring")
        self._check(self._ninja(sorted({p.target for p in programs})), "building the tree")
        for program in programs:
            self._divide(program)

    def _divide(self, program: Program) -> None:
        """Runs it unbroken; into the suites that are done soon and the slow ones, or one part where
        it is no GoogleTest or runs some cases alone."""
        report = self.build / f"{program.name}.json"
        is_whole = program.command[1:] == ("--gtest_fail_fast",)
        more = (f"--gtest_output=json:{report}",) if is_whole else ()
        outcome, cpu_s = self._run(
            dataclasses.replace(program, command=(*program.command, *more)), None)
        if outcome.is_found:
            raise Stopped(f"{program.name} fails without any mutant: {outcome.by}")
        self._parts[program.command], self._cpu_s[program.command] = [program], cpu_s
        if not is_whole:
            return
        suites = json.loads(report.read_text(encoding="utf-8"))["testsuites"]
        took_s = {f"{s['name']}.*": float(s["time"].rstrip("s")) for s in suites}
        slow = {name: s for name, s in took_s.items() if s >= LEAST_SLOW_S}
        if not slow or len(slow) == len(took_s):
            return
        names = ":".join(slow)
        parts = [dataclasses.replace(program, command=(*program.command, f"--gtest_filter={only}"))
                 for only in ("-" + names, names)]
        slow_part = sum(slow.values()) / sum(took_s.values())  # the machine may be busy: a share
        self._parts[program.command] = parts
        for part, share in zip(parts, (1 - slow_part, slow_part)):
            self._cpu_s[part.command] = share * cpu_s

    def try_out(self, path: str, mutated: str, programs: list[Program]) -> tuple[str, str]:
        """("does not compile", "") or ("survived", "") or (program that found it, by what)."""
        file = self.tree / path
        original = file.read_text(encoding="utf-8")
        file.write_text(mutated, encoding="utf-8")
        try:
            built: set[str] = set()
            for program in programs:
                if program.target not in built:
                    built.add(program.target)
                    done = self._call(self._ninja([program.target]), mutant=path)
                    if done.returncode != 0:
                        if "error:" not in done.stdout:
                            raise Stopped(f"building {path}: {_last_line(done.stdout)}")
                        return "does not compile", ""
                for part in self._parts[program.command]:
                    outcome, _ = self._run(part, self._cpu_s[part.command])
                    if outcome.is_found:
                        return program.name, outcome.by
            return "survived", ""
        finally:
            file.write_text(original, encoding="utf-8")

    def _ninja(self, targets: list[str]) -> list[str]:
        return ["cmake", "--build", str(self.build), "--parallel", str(self.jobs),
                "--target", *targets]

    def _check(self, command: list[str], what: str) -> None:
        done = self._call(command, mutant="")
        if done.returncode != 0:
            sys.stderr.write(done.stdout[-4000:])
            raise Stopped(f"{what} failed: {_last_line(done.stdout)}")

    def _call(self, command: list[str], mutant: str) -> subprocess.CompletedProcess:
        environment = os.environ | {"PORTCULLIS_MUTANT": mutant, "CCACHE_NOHASHDIR": "true",
                                    "CCACHE_BASEDIR": str(self.tree)}
        return subprocess.run(command, env=environment, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def _run(self, program: Program, usual_s: float | None) -> tuple[Outcome, float]:
        """`usual_s` of processor time is what it takes when nothing is broken; None: not known."""
        limit_s = 3600 if usual_s is None else int(self.least_cpu_s + 3 * usual_s)

        def limit() -> None:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        log = self.build / f"{program.name}.log"
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(log, "w", encoding="utf-8") as out:
            process = subprocess.Popen([str(self.build / program.command[0]),
                                        *program.command[1:]], cwd=self.build, stdout=out,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       preexec_fn=limit)
            try:
                status = process.wait(timeout=limit_s * WALL_PER_CPU)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                status = None
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
        return Outcome(status != 0, _reason(status, log) if status != 0 else ""), cpu_s


def _reason(status: int | None, log: pathlib.Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    failed = re.findall(r"^\[  FAILED  \] ([\w/.]+)", text, re.MULTILINE)
    begun = re.findall(r"^\[ RUN      \] ([\w/.]+)", text, re.MULTILINE)
    if status is None or status in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"hangs in {begun[-1]}" if begun else "hangs"
    if status < 0:
        return f"{signal.Signals(-status).name} in {begun[-1] if begun else 'the program'}"
    if failed:
        return failed[0]
    violated = re.search(r"^.*(NOT SHOWN|NOT FOUND|violat).*$", text, re.MULTILINE)
    return " ".join((violated[0] if violated else _last_line(text)).split())[:100]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "without a word"
