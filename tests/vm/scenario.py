# SPDX-License-Identifier: BSD-3-Clause
#
# One scenario: the hca-servers it needs, one boot in which a shell script runs against them, and
# what must be true of the results afterwards. scenarios/NAME.py declares, this file does.
"""Runs one scenario and says what became of it."""

import importlib.util
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from vm_guest import Guest
from vm_tree import NEWEST_KERNEL, VmError, tree

FOLDER = Path(__file__).parent
SOURCE = FOLDER.parent.parent
SERVER_START_S = 120
SERVER_END_S = 60


@dataclass
class Scenario:
    """`servers` has one list of hca-server arguments for each device, in the order of their PCI
    slots, `kernel` says which of vm_tree.KERNELS boots, `qemu_arguments` what else QEMU is given;
    "{results}" in them is the folder of results. `variables` are set when `script` begins, which
    several scenarios may share; so they may `functions`, scripts that come before it. When the
    guest has ended, `judge` is given the build's folder and that of results, and returns one line
    for each thing that is wrong."""

    summary: str
    script: str
    servers: list[list[str]]
    judge: Callable[[Path, Path], list[str]] = lambda build, results: []
    kernel: str = NEWEST_KERNEL
    kernel_arguments: str = ""
    qemu_arguments: list[str] = field(default_factory=list)
    memory_mib: int = 2048
    memory_has_file: bool = True
    # Hangs are ended, a busy machine is not: alone a scenario takes one to five minutes.
    deadline_s: int = 1800
    # Longer than CI's hour has room for: run when it is named, and by --all.
    is_long: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)


def names() -> list[str]:
    return sorted(path.stem for path in (FOLDER / "scenarios").glob("*.py"))


def short_names() -> list[str]:
    return [name for name in names() if not load(name).is_long]


def load(name: str) -> Scenario:
    if name not in names():
        raise VmError(f"no scenario \"{name}\"; accepted: {', '.join(names())}")
    spec = importlib.util.spec_from_file_location(name, FOLDER / "scenarios" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SCENARIO


def programs(chosen: list[str]) -> list[str]:
    """What these scenarios run, each once, as paths below the build's folder."""
    return list(dict.fromkeys(program for name in chosen for program in programs_of(load(name))))


def programs_of(scenario: Scenario) -> list[str]:
    return ["tools/hca-server", *scenario.programs]


class Servers:
    """The hca-servers of one boot; ended on exit, whatever happened."""

    def __init__(self, program: Path, arguments: list[list[str]], results: Path):
        self.sockets = [results / f"hca{index}.socket" for index in range(len(arguments))]
        self.commands = [[str(program), "--socket", str(socket),
                          *[word.replace("{results}", str(results)) for word in words]]
                         for socket, words in zip(self.sockets, arguments)]
        self.results = results
        self.processes: list[subprocess.Popen] = []
        self.late: list[str] = []

    def __enter__(self) -> "Servers":
        for index, command in enumerate(self.commands):
            with (self.results / f"hca{index}.log").open("w", encoding="utf-8") as log:
                self.processes.append(subprocess.Popen(command, stdout=log,
                                                       stderr=subprocess.STDOUT))
        try:
            for index, socket in enumerate(self.sockets):
                self.wait_for(index, socket)
        except VmError:
            self.__exit__()
            raise
        return self

    def wait_for(self, index: int, socket: Path) -> None:
        until = time.monotonic() + SERVER_START_S
        while not socket.exists():
            if self.processes[index].poll() is not None or time.monotonic() > until:
                raise VmError(f"hca-server does not start: {self.last_line(index)}")
            time.sleep(0.02)

    def last_line(self, index: int) -> str:
        lines = self.log(index)
        return lines[-1] if lines else "it said nothing"

    def log(self, index: int) -> list[str]:
        return (self.results / f"hca{index}.log").read_text(encoding="utf-8").splitlines()

    def __exit__(self, *_exception) -> None:
        for process in self.processes:
            process.terminate()
        for index, process in enumerate(self.processes):
            try:
                process.wait(SERVER_END_S)
            except subprocess.TimeoutExpired:
                self.late.append(f"hca-server {index} did not end within {SERVER_END_S} s")
                process.kill()
                process.wait()

    def note(self, line: str) -> None:
        """Of a line of the console: after each check how much memory each server has of its own, in
        KiB, goes to memory.txt. (The guest's memory, which it maps, is not its own.)"""
        if line.startswith(("PASS ", "FAIL ")):
            sizes = " ".join(str(own_memory_kib(process.pid)) for process in self.processes)
            with (self.results / "memory.txt").open("a", encoding="utf-8") as notes:
                notes.write(f"{sizes} {line[5:].strip()}\n")

    def complaints(self) -> list[str]:
        """Of servers that have been told to end: those that did not, and what they hung up on."""
        said = [f"hca-server {index}: {line}" for index in range(len(self.sockets))
                for line in self.log(index) if "hung up on" in line]
        return self.late + said

    def died(self) -> list[str]:
        return [f"hca-server {index} ended with {process.returncode}: {self.last_line(index)}"
                for index, process in enumerate(self.processes) if process.poll() is not None]

    def devices(self) -> list[str]:
        return [json.dumps({"driver": "vfio-user-pci",
                            "socket": {"type": "unix", "path": str(socket)}})
                for socket in self.sockets]


def own_memory_kib(pid: int) -> int:
    """Resident and anonymous; 0 of a process that has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    size = re.search(r"^RssAnon:\s+(\d+) kB$", status, re.M)
    return int(size[1]) if size else 0


def script_of(scenario: Scenario, build: Path, tree_root: Path) -> str:
    """The guest's script: where things are, the functions all scenarios share, those that some do,
    the scenario."""
    known = {"SOURCE": SOURCE, "BUILD": build, "TREE": tree_root, **scenario.variables}
    head = "".join(f"{name}={value}\n" for name, value in known.items())
    parts = [FOLDER / "guest.sh",
             *(FOLDER / "scenarios" / name for name in [*scenario.functions, scenario.script])]
    return "\n".join([head, *(part.read_text(encoding="utf-8") for part in parts),
                      "end_of_checks\n"])


def failed_checks(results: Path) -> str:
    """Which checks of guest.sh the console says failed; empty when it names none."""
    console = (results / "console.log").read_text(encoding="utf-8", errors="replace")
    failed = [line.removeprefix("FAIL ").strip() for line in console.splitlines()
              if line.startswith("FAIL ")]
    return "".join(f', "{name}"' for name in failed)


def judged(scenario: Scenario, build: Path, results: Path) -> list[str]:
    """What the scenario's judge finds wrong. One that does not find what it reads, because the
    guest came to another end, says so and leaves the scenarios after it their turn."""
    try:
        return scenario.judge(build, results)
    except (ArithmeticError, LookupError, OSError, ValueError) as error:
        return [f"the judge of its results failed: {type(error).__name__}: {error}"]


def run(name: str, build: Path, results: Path, kernel: str | None = None) -> list[str]:
    """What is wrong, one line each; nothing when the scenario passed. On `kernel`, or on the
    scenario's own."""
    scenario = load(name)
    machine = tree(kernel or scenario.kernel)
    for program in programs_of(scenario):
        if not (build / program).is_file():
            raise VmError(f"{build / program} is not built; ./dev vm makes it")
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    with Servers(build / "tools/hca-server", scenario.servers, results) as servers:
        guest = Guest(machine, script_of(scenario, build, machine.root), results,
                      devices=servers.devices(),
                      more=[word.replace("{results}", str(results))
                            for word in scenario.qemu_arguments],
                      memory_mib=scenario.memory_mib,
                      memory_has_file=scenario.memory_has_file, deadline_s=scenario.deadline_s,
                      kernel_arguments=scenario.kernel_arguments, told=servers.note)
        status = guest.boot()
        wrong = servers.died()
    if status != 0:
        wrong.append(f"{status} checks failed in the guest{failed_checks(results)}; "
                     f"see {results}/console.log")
    return wrong + servers.complaints() + judged(scenario, build, results)
