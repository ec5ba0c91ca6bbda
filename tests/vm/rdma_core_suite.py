# SPDX-License-Identifier: BSD-3-Clause
#
# Run in a guest: rdma-core's own tests (Debian's package rdma-core brings them as documentation) on
# one device. Each module has a process of its own, and a test that crashes or hangs ends that
# process alone: the module goes on in another, after it.
"""Writes one JSON line for each test: its name, passed, skipped or failed, why, seconds."""

import argparse
import faulthandler
import gzip
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import types
import unittest
from pathlib import Path

PACKAGED = Path("/usr/share/doc/rdma-core/tests")
# A test takes up to ten seconds in an emulated machine; mlx5_core gives up a command after 60.
TEST_DEADLINE_S = 100
# Not run: what needs other hardware than the model, and what scenario rdma_core_vfio runs.
LEFT_OUT = ("test_cuda_dmabuf", "test_mlx5_cuda_umem", "test_efadv", "test_efa_srd",
            "test_mlx5_vfio")


def unpack(folder: Path) -> list[str]:
    """The packaged tests as plain files; the names of their modules."""
    (folder / "tests").mkdir(parents=True)
    for file in PACKAGED.iterdir():
        data = file.read_bytes()
        plain = gzip.decompress(data) if file.suffix == ".gz" else data
        (folder / "tests" / file.name.removesuffix(".gz")).write_bytes(plain)
    return sorted(path.stem for path in (folder / "tests").glob("test_*.py"))


# ---- In the process of a module --------------------------------------------------------------

class Told(unittest.TestResult):
    """Writes what becomes of a test the moment it is known."""

    def __init__(self, out):
        super().__init__()
        self.out = out
        self.parent = os.getpid()
        self.outcome: tuple[str, str] | None = None

    def tell(self, **words) -> None:
        if os.getpid() != self.parent:
            return  # a child that a test forked
        self.out.write(json.dumps(words) + "\n")
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        self.outcome = None
        self.began = time.monotonic()
        self.tell(test=test.id(), outcome="started")

    def stopTest(self, test):
        super().stopTest(test)
        outcome, why = self.outcome or ("passed", "")
        self.tell(test=test.id(), outcome=outcome, why=why,
                  seconds=round(time.monotonic() - self.began, 1))

    def wrong(self, test, error) -> None:
        if isinstance(test, unittest.TestCase):
            print(f"==== {test.id()}\n{self._exc_info_to_string(error, test)}", flush=True)
            self.outcome = self.outcome or ("failed", f"{error[0].__name__}: {error[1]}"[:400])
        else:  # a class or a module that could not be set up
            self.tell(test=str(test), outcome="failed", why=str(error[1])[:400], seconds=0)

    def addError(self, test, error):
        self.wrong(test, error)

    def addFailure(self, test, error):
        self.wrong(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.wrong(test, error)

    def addSkip(self, test, reason):
        self.outcome = self.outcome or ("skipped", reason)


def tests_in(suite) -> list[unittest.TestCase]:
    if isinstance(suite, unittest.TestCase):
        return [suite]
    return [test for part in suite for test in tests_in(part)]


def run_module(folder: Path, module: str, device: str, out: Path, done: set[str]) -> None:
    faulthandler.enable()
    # The suite's own __init__ imports every module; this process wants one.
    package = types.ModuleType("tests")
    package.__path__ = [str(folder / "tests")]
    sys.modules["tests"] = package
    sys.path.insert(0, str(folder / "tests"))
    sys.argv[1:] = ["--dev", device]
    importlib.import_module("args_parser").parser.parse_args()
    importlib.import_module("tests.utils")  # it and mlx5_base need each other, in this order
    loaded = unittest.defaultTestLoader.loadTestsFromModule(
        importlib.import_module(f"tests.{module}"))
    left = [test for test in tests_in(loaded) if test.id() not in done]
    with out.open("a", encoding="utf-8") as lines:
        unittest.TestSuite(left).run(Told(lines))
        lines.write(json.dumps({"module": module, "outcome": "ended"}) + "\n")
    # Objects that a failed test left are the kernel's to collect, not the interpreter's.
    sys.stdout.flush()
    os._exit(0)


# ---- In the process that watches -------------------------------------------------------------

def lines_of(out: Path) -> list[dict]:
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def run_process(command: list[str], out: Path, log) -> str:
    """Why it ended without having said so; empty when it ended as it should."""
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    size, changed = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.1)
        now = out.stat().st_size if out.exists() else 0
        if now != size:
            size, changed = now, time.monotonic()
        elif time.monotonic() - changed > TEST_DEADLINE_S:
            # faulthandler says where it stood.
            os.killpg(process.pid, signal.SIGABRT)
            time.sleep(2)
            os.killpg(process.pid, signal.SIGKILL)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                return f"hangs, and in the kernel: no end within {TEST_DEADLINE_S} s"
            return f"hangs: no end within {TEST_DEADLINE_S} s"
    try:
        os.killpg(process.pid, signal.SIGKILL)  # what it forked and left
    except ProcessLookupError:
        pass
    return "" if process.returncode == 0 else f"crashes: status {process.returncode}"


def watch_module(folder: Path, module: str, device: str, results: Path) -> list[dict]:
    out = results / f"{module}.jsonl"
    found: dict[str, dict] = {}
    with (results / f"{module}.log").open("w", encoding="utf-8") as log:
        while True:
            out.unlink(missing_ok=True)
            done = folder / "done"
            done.write_text("\n".join(found), encoding="utf-8")
            why = run_process([sys.executable, "-B", __file__, "--device", device, "--results",
                               str(results), "--folder", str(folder), "--module", module,
                               "--done", str(done)], out, log)
            lines = lines_of(out)
            before = len(found)
            for line in lines:
                if "test" in line:
                    found[line["test"]] = line
            for line in found.values():
                if line["outcome"] == "started":
                    line.update(outcome="failed", why=why, seconds=0)
            ended = any(line["outcome"] == "ended" for line in lines)
            if ended or len(found) == before:
                break
    out.unlink(missing_ok=True)
    if not ended and why:
        found[module] = {"test": f"tests.{module}", "outcome": "failed", "why": why, "seconds": 0}
    return list(found.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--only", default="", help="modules that this matches")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/rdma-core-tests"))
    parser.add_argument("--module", help=argparse.SUPPRESS)
    parser.add_argument("--done", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.module:
        done = set(arguments.done.read_text(encoding="utf-8").splitlines())
        run_module(arguments.folder, arguments.module, arguments.device,
                   arguments.results / f"{arguments.module}.jsonl", done)
    arguments.results.mkdir(parents=True, exist_ok=True)
    with (arguments.results / "tests.jsonl").open("w", encoding="utf-8") as out:
        for module in unpack(arguments.folder):
            if module in LEFT_OUT or not re.search(arguments.only, module):
                continue
            began = time.monotonic()
            lines = watch_module(arguments.folder, module, arguments.device, arguments.results)
            count = {outcome: sum(line["outcome"] == outcome for line in lines)
                     for outcome in ("passed", "skipped", "failed")}
            print(f"{module}: " + ", ".join(f"{n} {what}" for what, n in count.items()) +
                  f" ({time.monotonic() - began:.0f} s)", flush=True)
            for line in lines:
                out.write(json.dumps(line) + "\n")
            out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
