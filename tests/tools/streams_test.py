# SPDX-License-Identifier: BSD-3-Clause
#
# What every program does with standard streams that are full, closed, or read no more: one line on
# standard error and a status that no verdict has, never a signal, and no file of its own where a
# stream was closed.
"""streams_test.py PROGRAM ..: their paths."""

import contextlib
import fcntl
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = [pathlib.Path(path) for path in sys.argv[1:]]
OUTPUT_LOST = 74  # kExitOutputLost of program/standard_streams.hpp
NO_RESOURCES = 71  # kExitNoResources of the same


def named(name):
    return next(path for path in PROGRAMS if path.name == name)


def run(arguments, **streams):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
               "stderr": subprocess.PIPE} | streams
    return subprocess.run(arguments, text=True, timeout=600, **streams)


def closed(descriptors, arguments):
    """`arguments` for a shell that closes those and then becomes the program."""
    return ["sh", "-c", "exec \"$@\" " + " ".join(f"{fd}>&-" for fd in descriptors), "sh",
            *arguments]


@contextlib.contextmanager
def unread_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


class EveryProgram(unittest.TestCase):
    def expect_lost(self, program, ended):
        self.assertEqual(ended.returncode, OUTPUT_LOST)
        self.assertRegex(ended.stderr, rf"\A{program.name}: standard output refused .*\n\Z")

    def test_full_output_is_told(self):
        for program in PROGRAMS:
            with self.subTest(program.name), open("/dev/full", "w") as full:
                self.expect_lost(program, run([program, "--help"], stdout=full))

    def test_closed_output_is_told(self):
        for program in PROGRAMS:
            with self.subTest(program.name):
                ended = run(closed([1], [program, "--help"]))
                self.expect_lost(program, ended)
                self.assertIn("it is closed", ended.stderr)

    def test_output_that_nobody_reads_is_told(self):
        for program in PROGRAMS:
            with self.subTest(program.name), unread_pipe() as pipe:
                ended = run([program, "--help"], stdout=pipe)
                self.expect_lost(program, ended)
                self.assertIn("nobody reads it", ended.stderr)

    def test_closed_messages_end_nothing(self):
        for program in PROGRAMS:
            with self.subTest(program.name):
                self.assertGreater(run(closed([2], [program, "--no-such-option"])).returncode, 0)
                self.assertEqual(run(closed([0, 2], [program, "--help"])).returncode, 0)


class FenceProof(unittest.TestCase):
    def test_thread_that_there_is_no_room_for_is_told(self):
        def stacks_larger_than_memory():
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 50, 1 << 50))  # pthread_create(3)
        ended = run([named("fence_proof")], preexec_fn=stacks_larger_than_memory)
        self.assertEqual(ended.returncode, NO_RESOURCES)
        self.assertRegex(ended.stderr, r"\Afence_proof: no thread is left; .*\n\Z")


REQUEST = ("lease-request version=1 qpn=0x11 psn=0x3a51b2 gid=192.0.2.2 mac=02:50:43:00:00:02 "
           "mtu=1024\n")


class LeaseServe(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "request").write_text(REQUEST)

    def arguments(self, device="model", *more):
        return [named("lease-serve"), "--", "--device", device, "--address", "192.0.2.1",
                "--request-file", self.folder / "request", "--grant-file", self.folder / "grant",
                *more]

    def test_closed_streams_put_nothing_into_its_files(self):
        recordings = [self.folder / "trace", self.folder / "pcap"]
        device = "model,trace={},pcap={}".format(*recordings)
        more = ["--revoke-after-ms", "1", "--watch-ms", "1"]
        ended = run(closed([0, 1, 2], self.arguments(device, *more)))
        self.assertEqual(ended.returncode, OUTPUT_LOST)
        for recording in recordings:
            for word in [b"awaiting", b"lease-serve", b"granted"]:
                self.assertNotIn(word, recording.read_bytes())

    def test_reader_that_leaves_takes_the_lease_back(self):
        record = self.folder / "json"
        reader, writer = os.pipe()
        with subprocess.Popen([str(word) for word in self.arguments("model", "--json", record)],
                              stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE,
                              text=True) as serve:
            os.close(writer)
            with open(reader) as lines:
                for line in lines:
                    if line.startswith("granted"):
                        break
            try:
                _, messages = serve.communicate(timeout=100)
            except subprocess.TimeoutExpired:
                serve.kill()  # it holds the lease for nobody to see
                raise
        self.assertEqual(serve.returncode, OUTPUT_LOST)
        self.assertRegex(messages, r"\Alease-serve: standard output refused .*\n\Z")
        self.assertIn('"outcome":"TornDown"', record.read_text())

    def test_file_beyond_the_limit_of_sizes_is_told(self):
        def no_byte():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        ended = run([str(word) for word in self.arguments()], preexec_fn=no_byte)
        self.assertEqual(ended.returncode, 2)
        told = "lease-serve: .*grant cannot be written: File too large"
        self.assertRegex(ended.stderr, rf"\A{told}\n\Z")
        self.assertFalse((self.folder / "grant").exists())

    def test_trace_that_is_cut_is_told(self):
        """A pipe stands for the disk: it is full when its reader leaves."""
        trace = self.folder / "trace"
        os.mkfifo(trace)
        reader = os.open(trace, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)  # more than a bring-up takes
        (self.folder / "request").unlink()
        arguments = self.arguments(f"model,trace={trace}", "--revoke-after-ms", "1")
        with subprocess.Popen([str(word) for word in arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serve:
            for line in serve.stdout:
                if line.startswith("awaiting"):
                    break
            os.close(reader)
            (self.folder / "request").write_text(REQUEST)
            _, messages = serve.communicate(timeout=100)
        self.assertEqual(serve.returncode, OUTPUT_LOST)
        told = f"lease-serve: trace file {trace} cannot be written: Broken pipe;"
        self.assertRegex(messages, rf"\A{told} .*\n\Z")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
