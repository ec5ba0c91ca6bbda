#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the bench programs of one ./dev bench, one after the other, and says what they came to.

    run.py DIR --commit COMMIT [--quick] [--verbose] [-- ARG ..] < PLAN

PLAN has a line for each run: the program, its folder below DIR ("." is DIR itself) and arguments,
with tabs between them. ARG .. go to every program; what stands before a second "--" is EAL's.

What a program prints goes to DIR/FOLDER/PROGRAM.log; with --verbose it is shown instead. A terminal
has one line of progress meanwhile, with the time that is left as far as earlier series tell. What
programs warn of is shown once. A program that fails ends none of the others.

exit status: as bench_summary's, 3 when the page could not be written, 130 when interrupted
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent
TITLES = {"card-timing": "the card's timing", "driver": "the driver's own share"}
# About so many seconds each took once on two cores. They only weigh: what is left goes by the pace.
SECONDS = {("floor_bench", "card-timing"): 14, ("revoke_bench", "card-timing"): 12,
           ("revoke_bench", "driver"): 60, ("dataplane_bench", "driver"): 6}
INTERRUPTED = 130
LISTING_S = 60  # of a machine with other work to do


class Terminal:
    """One line that is written over, where standard output is a terminal; nothing elsewhere."""

    def __init__(self):
        self.is_one = sys.stdout.isatty()
        self.shown = ""

    def show(self, text: str) -> None:
        if self.is_one and text != self.shown:
            width = os.get_terminal_size().columns or 80
            print(f"\r{text[:width - 1]}\x1b[K", end="", flush=True)
            self.shown = text

    def clear(self) -> None:
        if self.shown:
            print("\r\x1b[K", end="", flush=True)
            self.shown = ""


def duration(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Share:
    """How much of the whole run is done, and how long the rest will take at that pace."""

    def __init__(self, plan: list[list[str]]):
        self.weights = [SECONDS.get((words[0], words[1]), 2) for words in plan]
        self.start = time.monotonic()

    def left_s(self, run: int, part: float) -> float:
        done = sum(self.weights[:run]) + part * self.weights[run]
        left = sum(self.weights) - done
        passed = time.monotonic() - self.start
        # The first seconds tell nothing of a pace.
        return left if passed < 5 or done < 5 else left * passed / done


class Log:
    """What a program prints. A disk that is full loses some of it and keeps nobody waiting."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.file = path.open("w", encoding="utf-8")
        self.lock = threading.Lock()
        self.error: OSError | None = None

    def write(self, line: str) -> None:
        with self.lock:
            try:
                if self.error is None:
                    self.file.write(line)
            except OSError as error:
                self.error = error

    def close(self) -> str:
        """Empty, or why it is not whole."""
        try:
            self.file.close()
        except OSError as error:
            self.error = self.error or error
        return f"{self.path}: {self.error.strerror}" if self.error else ""


class Interrupt:
    """Ctrl-C reaches the program as well, which writes what it has; we wait for that."""

    def __init__(self):
        self.asked = False
        signal.signal(signal.SIGINT, self.note)

    def note(self, *_):
        self.asked = True


class Runner:
    def __init__(self, options: argparse.Namespace, plan: list[list[str]]):
        self.options = options
        self.plan = plan
        self.share = Share(plan)
        self.terminal = Terminal()
        self.interrupt = Interrupt()
        self.warned: set[str] = set()
        self.ended: list[str] = []  # PROGRAM:STATUS:FILE, as bench_summary reads it

    def command(self, words: list[str], *more: str) -> list[str]:
        program, _, *own = words
        given = self.options.arguments
        split = given.index("--") if "--" in given else 0
        before, after = given[:split], given[split + 1 if "--" in given else 0:]
        quick = ["--quick"] if self.options.quick else []
        return [str(self.options.programs / program), *before, "--", *more, *quick,
                f"--benchmark_context=commit={self.options.commit}", *own, *after]

    def series_of(self, words: list[str]) -> set[str]:
        """Empty where the program does not say: it will say why when it runs."""
        try:
            listed = subprocess.run(self.command(words, "--benchmark_list_tests=true"), text=True,
                                    capture_output=True, timeout=LISTING_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return set()
        return {line for line in listed.stdout.splitlines() if re.fullmatch(r"\S+/\S+", line)}

    def warn(self, program: str, line: str) -> None:
        """Once, whichever program says it first."""
        text = line.removeprefix(f"{program}: ")
        if text == line or text in self.warned:
            return
        self.warned.add(text)
        self.terminal.clear()
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def run(self, index: int) -> int:
        words = self.plan[index]
        folder = self.options.where / words[1]
        folder.mkdir(parents=True, exist_ok=True)
        command = self.command(words, f"--out-dir={folder}")
        name = f"{words[0]}, {TITLES[words[1]]}" if words[1] in TITLES else words[0]
        if not self.terminal.is_one:
            left = duration(self.share.left_s(index, 0))
            print(f"== {name} ({index} of {len(self.plan)} done, about {left} left)", flush=True)
        if self.options.verbose:
            return subprocess.run(command, check=False).returncode
        return self.run_watched(index, name, command, folder / f"{words[0]}.log")

    def run_watched(self, index: int, name: str, command: list[str], log: pathlib.Path) -> int:
        program = self.plan[index][0]
        series = self.series_of(self.plan[index])
        if self.interrupt.asked:  # while they were listed
            return INTERRUPTED
        kept = Log(log)
        last = ""
        with subprocess.Popen(command, text=True, errors="replace", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as running:
            done: set[str] = set()

            def hear_out():
                for line in running.stdout:
                    kept.write(line)
                    done.update(set(line.split()[:1]) & series)

            hearing = threading.Thread(target=hear_out)
            watching = threading.Thread(target=self.watch,
                                        args=(index, name, running, done, series))
            hearing.start()
            watching.start()
            for line in running.stderr:
                kept.write(line)
                last = line.strip() if line.startswith(f"{program}: ") else last
                self.warn(program, line.strip())
            hearing.join()
            status = running.wait()
            watching.join()
        if lost := kept.close():
            self.terminal.clear()
            print(f"bench: {lost}", file=sys.stderr, flush=True)
        if status not in (0, INTERRUPTED):
            self.terminal.clear()
            why = f": {last.removeprefix(f'{program}: ')}" if last else ""
            print(f"bench: {name}: status {status}{why}; all it said is in {log}", file=sys.stderr,
                  flush=True)
        return status

    def watch(self, index: int, name: str, running: subprocess.Popen, done: set[str],
              series: set[str]) -> None:
        while running.poll() is None:
            part = len(done) / len(series) if series else 0
            left = duration(self.share.left_s(index, part))
            passed = duration(time.monotonic() - self.share.start)
            self.terminal.show(f"{name}: {len(done)} of {len(series)} series; {passed} gone, about "
                               f"{left} left")
            time.sleep(0.2)

    def run_all(self) -> None:
        for index, words in enumerate(self.plan):
            status = self.run(index)
            status = 128 - status if status < 0 else status  # as a shell says it of a signal
            file = self.options.where / words[1] / f"{words[0]}.json"
            self.ended.append(f"{words[0]}:{status}:{file}")
            if self.interrupt.asked or status == INTERRUPTED:
                self.interrupt.asked = True
                break
        self.terminal.clear()

    def conclude(self) -> int:
        summary = subprocess.run(
            [str(self.options.programs / "bench_summary"),
             f"--where={self.options.where}, report.html first", *self.ended],
            text=True, stdout=subprocess.PIPE, check=False)
        print(f"\n{summary.stdout}", end="", flush=True)
        conclusion = self.options.where / "conclusion.txt"
        conclusion.write_text(summary.stdout, encoding="utf-8")
        page = subprocess.run([sys.executable, "-B", HERE / "report.py", self.options.where,
                               "--conclusion", conclusion], check=False)
        if self.interrupt.asked:
            return INTERRUPTED
        return summary.returncode or (3 if page.returncode != 0 else 0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="run", add_help=False)
    parser.add_argument("where", type=pathlib.Path)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    own, behind = sys.argv[1:], []
    if "--" in own:
        own, behind = own[:own.index("--")], own[own.index("--") + 1:]
    options = parser.parse_args(own)
    options.arguments = behind
    plan = [line.split("\t") for line in sys.stdin.read().splitlines() if line]
    try:
        runner = Runner(options, plan)
        runner.run_all()
        return runner.conclude()
    except OSError as error:
        print(f"bench: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
