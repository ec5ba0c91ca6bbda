# SPDX-License-Identifier: BSD-3-Clause
"""Runs what a page shows as a terminal, and compares what is printed with what the page says.

    run_shown.py PAGE.md FOLDER_OF_PROGRAMS ..

A block marked `console` is typed into a terminal; a second word names the terminal, of which a page
may have several (`console server`). They begin in a home of their own, which is removed at the end.

    $ COMMAND          is typed. Lines that begin with "> " go on with it.
    ^C                 is what it says, to the command that is running there.
    ..                 any lines, or none.
    everything else    is a line that the terminal prints, in this order.

When a terminal's next block begins with output or ^C, the last command of this one is still at work
and is not waited for; every other command has to end. A line that nobody expects is a finding.

What differs from run to run is compared by its kind, as KINDS says. A name that is made up anew
each time has to be the same wherever the page shows the same, also in what is typed; port 7471 is
one that is free. Everything else has to be as it is shown.
"""

import argparse
import dataclasses
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LIMIT_S = 120  # ends what hangs, and judges nothing: a block takes milliseconds

# Of a name the first sight says which it is in this run; of the others only the kind has to agree.
NAMES = {
    "lease": r"\b[0-9a-f]{8,16}:[0-9a-f]{8,16}\b",
    "rkey": r"(?<=rkey=)0x[0-9a-f]+",
    "psn": r"(?<=psn=)0x[0-9a-f]+",
    "incarnation": r"(?<=incarnation )[0-9a-f]+",
}
KINDS = {
    "time": r"(?<=answered after )\d+ us\b|(?<=longest revoke )\d+ us\b|\b\d+\.\d s\b",
    "date": r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z| UTC)?",
    "user": r"(?<=tenant )\d+|(?<=[0-9a-f]{8}) +\d+(?= +\d+ )",  # tenants are users
    "version": r"\(portcullis [^)]*\)",
}
TOKEN = re.compile("|".join(f"(?P<{kind}>{text})" for kind, text in {**NAMES, **KINDS}.items()))
PORT = "7471"  # as the pages have it; each run takes a free one in its place
OF_THE_SHELL = re.compile(r"bash: line \d+: +\d+ (Killed|Terminated|Interrupt)\b")  # of its jobs
PROMPT = re.compile(r"^\$ (.*)$")


class Finding(Exception):
    """One line for whoever mends the page, or the program."""


@dataclasses.dataclass
class Block:
    terminal: str
    line: int  # of the page
    lines: list[str]

    def goes_on(self) -> bool:
        return bool(self.lines) and not self.lines[0].startswith("$ ")


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    inside: Block | None = None
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        opening = re.match(r"^(```+)(\S*)\s*(.*?)\s*$", line)
        if fence:
            if line.rstrip() == fence:
                fence, inside = "", None
            elif inside is not None:
                inside.lines.append(line.rstrip())
        elif opening:
            fence = opening[1]
            if opening[2] == "console":
                inside = Block(opening[3], number, [])
                found.append(inside)
    return found


class Names:
    """Which name of this run stands for which of the page."""

    def __init__(self):
        self.of_page: dict[str, str] = {}
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = str(one.getsockname()[1])

    def typed(self, command: str) -> str:
        for shown, real in self.of_page.items():
            command = command.replace(shown, real)
        return command.replace(PORT, self.port)

    def are_same(self, shown: str, real: str) -> bool:
        """Whether a line is as shown; binds the names that it is the first to have."""
        shown = shown.replace(PORT, self.port)
        shown_tokens, real_tokens = list(TOKEN.finditer(shown)), list(TOKEN.finditer(real))
        same = (TOKEN.sub("\0", shown), TOKEN.sub("\0", real))
        if shown_tokens:  # a name may be shorter, and the column filled up
            same = tuple(re.sub(" +", " ", text) for text in same)
        if same[0] != same[1]:
            return False
        bound = dict(self.of_page)
        for a, b in zip(shown_tokens, real_tokens):
            if a.lastgroup != b.lastgroup:
                return False
            if a.lastgroup in NAMES and bound.setdefault(a[0], b[0]) != b[0]:
                return False
        self.of_page = bound
        return True


class Terminal:
    """A shell that is typed into, and a thread that reads what comes."""

    def __init__(self, name: str, home: pathlib.Path, environment: dict[str, str]):
        self.name = name
        self.waits_for = 0  # the number of the last command that was typed
        self.came_to = 0  # .. that has ended
        self.shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile"], cwd=home, env=environment, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        self.printed: queue.Queue[str | None] = queue.Queue()
        self.seen: list[str] = []  # and nobody has asked for it yet
        self.shell.stdin.write('as_it_came() { return "$1"; }\n')
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.shell.stdout:
            self.printed.put(line.rstrip("\n"))
        self.printed.put(None)

    def type(self, command: str) -> None:
        self.waits_for += 1
        self.shell.stdin.write(f"{{ {command}\n}} </dev/null; came=$?; "
                               f"echo '<came {self.waits_for}>'; as_it_came $came\n")
        self.shell.stdin.flush()

    def interrupt(self) -> None:
        children = pathlib.Path(f"/proc/{self.shell.pid}/task/{self.shell.pid}/children")
        for child in children.read_text(encoding="ascii").split():
            os.kill(int(child), signal.SIGINT)

    def take(self, deadline: float) -> None:
        """Waits for one line more."""
        if not self.takes_within(max(0.0, deadline - time.monotonic())):
            raise Finding(f"nothing more is printed within {LIMIT_S} s")

    def takes_within(self, seconds: float) -> bool:
        try:
            line = self.printed.get(timeout=seconds)
        except queue.Empty:
            return False
        if line is None:
            raise Finding("the shell has ended")
        came = re.fullmatch(r"(.*)<came (\d+)>", line)
        if came:
            self.came_to = int(came[2])
            line = came[1]
        if (line or not came) and not OF_THE_SHELL.match(line):
            self.seen.append(line)
        return True

    def next_line(self, deadline: float) -> str | None:
        """The next line; None when all that was typed has ended and nothing is left."""
        while not self.seen and self.came_to < self.waits_for:
            self.take(deadline)
        # What runs in the background prints when it likes.
        while not self.seen and self.has_children() and time.monotonic() < deadline:
            self.takes_within(0.05)
        while not self.seen and self.takes_within(0.0):
            pass
        return self.seen.pop(0) if self.seen else None

    def has_children(self) -> bool:
        path = pathlib.Path(f"/proc/{self.shell.pid}/task/{self.shell.pid}/children")
        return bool(path.read_text(encoding="ascii").split())

    def end(self) -> None:
        try:
            os.killpg(self.shell.pid, signal.SIGKILL)  # the session that this process began
        except ProcessLookupError:
            pass
        self.shell.wait()


def expect(terminal: Terminal, lines: list[str], names: Names) -> None:
    """The lines come, in this order; ".." stands for any."""
    deadline = time.monotonic() + LIMIT_S
    is_free, passed = False, ""
    for shown in lines:
        if shown == "..":
            is_free = True
            continue
        while True:
            real = terminal.next_line(deadline)
            if real is None:
                raise Finding(f"is not printed: {shown}" + (passed and f"\n  but: {passed}"))
            if names.are_same(shown, real):
                break
            if not is_free:
                raise Finding(f"shown:   {shown}\n  printed: {real}")
            passed = real
        is_free = False
    if is_free:
        while terminal.came_to < terminal.waits_for:
            terminal.take(deadline)
        terminal.seen.clear()


def end_command(terminal: Terminal) -> None:
    deadline = time.monotonic() + LIMIT_S
    while terminal.came_to < terminal.waits_for:
        terminal.take(deadline)


def steps(block: Block) -> list[tuple[str, list[str], int]]:
    """(what is typed; "" where output goes on; "^C"), the lines behind it, its line of the page."""
    found: list[tuple[str, list[str], int]] = []
    for number, line in enumerate(block.lines, block.line + 1):
        prompt = PROMPT.match(line)
        if prompt:
            found.append((prompt[1], [], number))
        elif line == "^C":
            found.append(("^C", [], number))
        elif line.startswith("> ") and found and not found[-1][1]:
            command, lines, at = found[-1]
            found[-1] = (command + "\n" + line[2:], lines, at)
        elif not found:
            found.append(("", [line], number))
        else:
            found[-1][1].append(line)
    return found


def run_block(block: Block, terminal: Terminal, names: Names, is_left_running: bool) -> None:
    todo = steps(block)
    for at, (command, lines, number) in enumerate(todo):
        try:
            if command == "^C":
                terminal.interrupt()
            elif command:
                if terminal.seen:
                    raise Finding(f"was printed before, and is not shown: {terminal.seen[0]}")
                terminal.type(names.typed(command))
            expect(terminal, lines, names)
            if not (is_left_running and at == len(todo) - 1):
                end_command(terminal)
                if terminal.seen and not terminal.has_children():
                    raise Finding(f"is printed, and not shown: {terminal.seen[0]}")
        except Finding as finding:
            where = f" (terminal {terminal.name})" if terminal.name else ""
            raise Finding(f"{number}{where}: {command or 'goes on'}\n  {finding}") from finding


def run(page: pathlib.Path, folders: list[str]) -> int:
    """How many blocks ran; raises what was found first."""
    todo = blocks(page.read_text(encoding="utf-8"))
    if not todo:
        raise Finding("1: there is no block that is marked console")
    home = pathlib.Path(tempfile.mkdtemp(prefix="shown-"))  # short: sockets lie in it
    environment = {"HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb", "TZ": "UTC",
                   "PATH": ":".join([*map(os.path.abspath, folders), "/usr/bin", "/bin"])}
    terminals: dict[str, Terminal] = {}
    names = Names()
    try:
        for at, block in enumerate(todo):
            terminal = terminals.get(block.terminal)
            if terminal is None:
                terminal = Terminal(block.terminal, home, environment)
                terminals[block.terminal] = terminal
            after = next((b for b in todo[at + 1:] if b.terminal == block.terminal), None)
            run_block(block, terminal, names, after is not None and after.goes_on())
        for terminal in terminals.values():
            if terminal.seen or not terminal.printed.empty():
                line = terminal.seen[0] if terminal.seen else terminal.printed.get()
                raise Finding(f"end: terminal {terminal.name} prints, and it is not shown: {line}")
    finally:
        for terminal in terminals.values():
            terminal.end()
        shutil.rmtree(home, ignore_errors=True)
    return len(todo)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("folders", nargs="+", help="where the programs are")
    options = parser.parse_args()
    try:
        count = run(options.page, options.folders)
    except Finding as finding:
        print(f"{options.page.name}:{finding}")
        return 1
    print(f"{options.page.name}: {count} blocks are as they are shown")
    return 0


if __name__ == "__main__":
    sys.exit(main())
