# SPDX-License-Identifier: BSD-3-Clause
"""A leased for tests: with a folder of its own, started, asked whether it serves, and ended."""

import os
import pathlib
import signal
import subprocess
import time

from lease_client import Client

DEADLINE_S = 120  # for a machine with much else to do
# A sanitizer looks into the process that it is in.
FOR_EVERY_SERVER = os.environ.get("LEASED_ARGUMENTS", "").split()


class Server:
    """A leased of its own, with its own journal and socket."""

    def __init__(self, program, folder, *arguments, **popen):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "leased.sock"
        self.journal = self.folder / "journal"
        self.arguments = list(arguments)
        self.popen = popen
        self.process = None

    def start(self):
        self.start_only()
        if self.process.stdout is not None:
            self.greeting = self.process.stdout.readline()
        self.wait_for_socket()
        return self

    def start_only(self):
        """Does not wait until it serves."""
        self.log = open(self.folder / "log", "a+", encoding="utf-8")
        arguments = [self.program, "--socket", self.socket, "--journal", self.journal,
                     *FOR_EVERY_SERVER, *self.arguments]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": self.log}
        self.process = subprocess.Popen(arguments, text=True, **(streams | self.popen))

    def wait_for_socket(self):
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            try:
                Client(self.socket).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        raise AssertionError(f"leased did not serve: {self.log_text()}")

    def client(self, **more):
        return Client(self.socket, deadline_s=DEADLINE_S, **more)

    def end(self, how=signal.SIGTERM):
        """Its exit status; `how` None: it has been told already."""
        if how is not None:
            self.process.send_signal(how)
        status = self.process.wait(DEADLINE_S)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.log.close()
        self.process = None
        return status

    def wait_for_log(self, text):
        until = time.monotonic() + DEADLINE_S
        while text not in self.log_text() and time.monotonic() < until:
            time.sleep(0.02)
        assert text in self.log_text(), self.log_text()

    def log_text(self):
        return (self.folder / "log").read_text(encoding="utf-8")
