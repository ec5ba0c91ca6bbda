# SPDX-License-Identifier: BSD-3-Clause
"""hca-server as a user meets it: bad input is one line that names it, a good run ends on a signal.

    program_test.py [CLASS ..] HCA_SERVER
"""

import errno
import fcntl
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = sys.argv.pop()


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300)


def call(client: socket.socket, command: int, payload: bytes, fds: list[int] = ()) -> int:
    """One vfio-user message and its reply; the errno of the reply."""
    header = struct.pack("<HHIII", 7, command, 16 + len(payload), 0, 0)
    socket.send_fds(client, [header + payload], list(fds))
    reply = client.recv(1 << 16)
    return struct.unpack("<I", reply[12:16])[0]


class BadInput(unittest.TestCase):
    def refused(self, wanted: str, *arguments: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            result = run("--socket", folder + "/s", *arguments)
        self.assertEqual(result.returncode, 1)
        self.assertIn(wanted, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_port_type_is_named_with_what_is_accepted(self):
        self.refused("--port-type 'roce': eth and ib are accepted", "--port-type", "roce")

    def test_mac_is_named_with_what_is_accepted(self):
        self.refused("--mac '01:00:00:00:00:01': a unicast address", "--mac", "01:00:00:00:00:01")

    def test_mac_with_a_sign_is_none(self):
        self.refused("--mac '02:50:43:00:00:-1': a unicast", "--mac", "02:50:43:00:00:-1")

    def test_seed_is_named_with_what_is_accepted(self):
        for text in ("-1", "abc", "18446744073709551616"):
            result = run("--socket", "/nonexistent/s", "--seed", text)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(f"--seed: '{text}': a number from 0 to", result.stderr)

    def test_wire_is_named_with_what_is_accepted(self):
        self.refused("wire 'tap': dgram,local=ADDRESS", "--wire", "tap")

    def test_trace_that_cannot_be_written_is_named(self):
        self.refused("/nonexistent/t", "--trace", "/nonexistent/t")

    def test_timing_is_named_with_what_is_accepted(self):
        self.refused("unknown timing 'slow'; accepted: instant", "--timing", "slow")

    def test_one_of_the_two_ways_to_offer_it_is_wanted(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments, wanted in (
                    ((), "--socket,--shm"),
                    (("--socket", folder + "/a", "--shm", folder + "/b"), "--socket,--shm"),
                    (("--socket", folder + "/a", "--reset-delay-ms", "1"), "requires --shm"),
                    (("--shm", folder + "/a", "--reset-delay-ms", "20001"), "0 to 20000")):
                result = run(*arguments)
                self.assertEqual(result.returncode, 1)
                self.assertIn(wanted, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)

    def test_path_that_is_no_socket_is_kept(self):
        with tempfile.NamedTemporaryFile() as file:
            result = run("--socket", file.name)
            self.assertEqual(result.returncode, 1)
            self.assertIn("exists and is not a socket", result.stderr)
            self.assertTrue(pathlib.Path(file.name).exists())


class Server(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.running = []

    def tearDown(self):
        for process in self.running:
            process.kill()
            process.communicate()
        self.folder.cleanup()

    def serve(self, name: str, *arguments: str, limit: int | None = None) -> subprocess.Popen:
        path = os.path.join(self.folder.name, name)
        process = subprocess.Popen(
            [PROGRAM, "--socket", path, *arguments], stderr=subprocess.PIPE, text=True,
            preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        )
        self.running.append(process)
        self.assertEqual(process.stderr.readline(), f"hca-server: listening on {path}\n")
        return process


class Serving(Server):
    def test_signal_ends_it_well_and_takes_the_socket_away(self):
        process = self.serve("s")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0)
        self.assertFalse(pathlib.Path(self.folder.name, "s").exists())

    def test_client_that_comes_and_goes_is_told(self):
        process = self.serve("s")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(os.path.join(self.folder.name, "s"))
            self.assertEqual(process.stderr.readline(), "hca-server: client connected\n")
        self.assertEqual(process.stderr.readline(), "hca-server: client gone\n")

    def test_two_servers_share_a_wire(self):
        wire = os.path.join(self.folder.name, "wire")
        self.serve("a", "--wire", f"stream,listen={wire}")
        self.serve("b", "--wire", f"stream,connect={wire}", "--mac", "02:50:43:00:00:02")
        for process in self.running:
            self.assertIsNone(process.poll())

    def test_the_same_server_again_is_refused_and_the_first_keeps_what_it_has(self):
        folder = pathlib.Path(self.folder.name)
        arguments = ["--wire", f"stream,listen={folder}/wire", "--trace", f"{folder}/trace",
                     "--pcap", f"{folder}/pcap"]
        self.serve("s", *arguments)
        before = (folder / "trace").stat().st_ino, (folder / "trace").stat().st_mtime_ns
        result = run("--socket", f"{folder}/s", *arguments)
        self.assertEqual(result.returncode, 1)
        self.assertIn("another server listens there", result.stderr)
        self.assertEqual(before, ((folder / "trace").stat().st_ino,
                                  (folder / "trace").stat().st_mtime_ns))
        self.assertTrue((folder / "wire").exists())

    def test_wire_that_another_server_has_is_refused(self):
        wire = "stream,listen=" + os.path.join(self.folder.name, "wire")
        self.serve("a", "--wire", wire)
        result = run("--socket", os.path.join(self.folder.name, "b"), "--wire", wire)
        self.assertEqual(result.returncode, 1)
        self.assertIn("another server listens there", result.stderr)

    def test_server_killed_leaves_its_socket_to_the_next(self):
        process = self.serve("s")
        process.kill()
        process.wait(300)
        self.serve("s")

    def test_second_signal_ends_it_though_a_client_holds_it_up(self):
        process = self.serve("s")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(os.path.join(self.folder.name, "s"))
            client.send(bytes(10))  # of a header of 16
            self.assertEqual(process.stderr.readline(), "hca-server: client connected\n")
            while any(fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4))):
                pass  # until it has read them and waits for the rest
            for _ in range(2):
                process.send_signal(signal.SIGINT)
                time.sleep(0.1)
            process.wait(300)
        self.assertEqual(process.returncode, -signal.SIGINT)


class FewAddresses(Server):
    """Under RLIMIT_AS; not for a sanitizer's build, which reserves addresses of its own."""

    def test_memory_that_the_address_space_has_no_room_for_is_refused_and_told(self):
        # RLIMIT_AS: what the server reserves for itself, and not the client's 32 GiB.
        limit = 2 << 30
        process = self.serve("s", limit=limit)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(os.path.join(self.folder.name, "s"))
            self.assertEqual(process.stderr.readline(), "hca-server: client connected\n")
            call(client, 1, struct.pack("<HH", 0, 1))
            memory = os.memfd_create("guest")
            os.truncate(memory, 32 << 30)
            request = struct.pack("<IIQQQ", 32, 3, 0, 1 << 32, 32 << 30)
            self.assertEqual(call(client, 2, request, [memory]), errno.EIO)
            os.close(memory)
            self.assertRegex(process.stderr.readline(), "cannot map 34359738368 bytes of guest")
            self.assertEqual(call(client, 13, b""), 0)
        self.assertIsNone(process.poll())

    def test_ranges_that_no_memory_is_left_for_end_one_client(self):
        process = self.serve("s")
        # Of memory: some, and less than the ranges need that it would accept.
        pages = int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (4 << 20)
        resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, limit))
        path = os.path.join(self.folder.name, "s")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            call(client, 1, struct.pack("<HH", 0, 1))
            with self.assertRaises((OSError, struct.error)):
                for page in range(1 << 16):
                    call(client, 2, struct.pack("<IIQQQ", 32, 3, 0, page << 14, 4096))
        self.assertEqual(process.stderr.readline(), "hca-server: client connected\n")
        self.assertEqual(process.stderr.readline(),
                         "hca-server: client hung up on: out of memory\n")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            self.assertEqual(call(client, 1, struct.pack("<HH", 0, 1)), 0)
        self.assertIsNone(process.poll())


if __name__ == "__main__":
    unittest.main()
