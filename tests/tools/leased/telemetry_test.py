# SPDX-License-Identifier: BSD-3-Clause
"""What leased tells over DPDK's telemetry socket, held against what a Prometheus server reads.

    telemetry_test.py LEASED
"""

import json
import os
import pathlib
import re
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

from lease_server import DEADLINE_S, Server

COMMANDS = ("/portcullis/leases", "/portcullis/fences", "/portcullis/device")


class Reader:
    """dpdk-telemetry.py's side of the socket: a greeting, then an answer for each command."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(DEADLINE_S)
        self.socket.connect(str(path))
        self.most_bytes = json.loads(self.socket.recv(1024))["max_output_len"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, command):
        self.socket.send(command.encode())
        self.said = self.socket.recv(self.most_bytes).decode()
        return json.loads(self.said)[command.split(",")[0]]


class Telemetry(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.runtime = self.folder / "dpdk" / "leased"
        self.server = None

    def tearDown(self):
        if self.server is not None and self.server.process is not None:
            self.server.end(signal.SIGKILL)

    def serve(self, *eal, more=""):
        arguments = ["--no-huge", "--no-pci", "--no-shconf", "-m", "64", "-l", "0",
                     "--file-prefix=leased", *eal]
        config = self.folder / "leased.toml"
        config.write_text(f"[device]\neal = {json.dumps(arguments)}\n{more}", encoding="utf-8")
        self.server = Server(LEASED, self.folder, "--config", config,
                             env=os.environ | {"RUNTIME_DIRECTORY": str(self.folder)})
        return self.server.start()

    def reader(self):
        return Reader(self.runtime / "dpdk_telemetry.v2")

    def until(self, reader, command, is_so):
        """The first answer that is so: gauges are as of the last second."""
        until = time.monotonic() + DEADLINE_S
        said = reader.ask(command)
        while not is_so(said) and time.monotonic() < until:
            time.sleep(0.05)
            said = reader.ask(command)
        return said

    def test_numbers_are_those_of_the_metrics_and_no_key_is_there(self):
        server = self.serve(more="[metrics]\nlisten = \"127.0.0.1:0\"\n")
        where = re.search(r"metrics at (\S+)", server.greeting).group(1)
        with server.client() as client, self.reader() as reader:
            kept = [client.alloc() for _ in range(3)]
            client.revoke(client.alloc())
            client.revoke(client.alloc(), 2)
            leases = self.until(reader, COMMANDS[0], lambda said: said["slots"]["held"] == 3)
            said = reader.said
            own = reader.ask(f"{COMMANDS[0]},{os.geteuid()}")
            others = reader.ask(f"{COMMANDS[0]},{os.geteuid() + 1}")
            fences = reader.ask(COMMANDS[1])
            said += reader.said
            device = reader.ask(COMMANDS[2])
            said += reader.said
            text = urllib.request.urlopen(where, timeout=DEADLINE_S).read().decode()
        self.assertEqual([leases[each] for each in ("active", "revoking", "fenced", "granted",
                                                    "challenges_met")], [3, 0, 0, 5, 0])
        self.assertEqual(own, {"active": 3, "fenced": 0, "revoking": 0})
        self.assertEqual(others, {"active": 0, "fenced": 0, "revoking": 0})
        self.assertEqual(leases["connections"]["socket"], 1)
        for state, count in leases["slots"].items():
            self.assertIn(f'portcullis_slots{{state="{state}"}} {count}\n', text)
        self.assertEqual(list(fences["ended"].values()), [2])
        self.assertRegex(list(fences["ended"])[0], r"^TornDown/holder/\w+$")
        self.assertEqual({plan: times["count"] for plan, times in fences["revokes"].items()},
                         {"seed/TornDown": 1, "nak_first/TornDown": 1})
        self.assertEqual((device["emulated"], device["lost"]), ("yes", {"device": 0, "journal": 0}))
        self.assertIn("model", device["device"])
        self.assertGreater(device["journal_writes"]["count"], 0)
        for command, times in device["commands"].items():
            name, answer = command.split("/")
            self.assertRegex(text, rf'command_seconds_count\{{answer="{answer}",command="{name}"\}}'
                                   rf' {times["count"]}\n')
        for lease in kept:
            for secret in (lease.rkey, lease.id, lease.epoch):
                self.assertNotRegex(said, rf"\b(0x)?({secret}|{secret:x})\b")
        self.assertEqual(server.end(), 0)

    def test_without_metrics_the_numbers_are_there_too(self):
        server = self.serve()
        self.assertNotIn("metrics", server.greeting)
        with server.client() as client, self.reader() as reader:
            client.alloc()
            self.assertEqual(self.until(reader, COMMANDS[0], lambda said: said["active"])["active"],
                             1)

    def test_parameters_that_are_none_are_answered_null_and_each_command_has_its_help(self):
        self.serve()
        with self.reader() as reader:
            for command in (f"{COMMANDS[0]},seven", f"{COMMANDS[0]},-1", f"{COMMANDS[0]},7x",
                            f"{COMMANDS[0]},18446744073709551616", f"{COMMANDS[1]},7",
                            f"{COMMANDS[2]},x"):
                self.assertIsNone(reader.ask(command), command)
            self.assertTrue(set(COMMANDS) <= set(reader.ask("/")))
            for each in COMMANDS:
                self.reader_has_help(reader, each)

    def reader_has_help(self, reader, command):
        reader.socket.send(f"/help,{command}".encode())
        said = json.loads(reader.socket.recv(reader.most_bytes))["/help"][command]
        self.assertRegex(said, "arameter")

    def test_many_readers_while_leases_come_and_go(self):
        server = self.serve()
        failures = []

        def read(reader):
            try:
                with reader:
                    for i in range(200):
                        reader.ask(COMMANDS[i % len(COMMANDS)])
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)

        # One after the other: few may wait to be accepted. MAX_CONNECTIONS of telemetry.c is 10.
        readers = [threading.Thread(target=read, args=(self.reader(),)) for _ in range(8)]
        for each in readers:
            each.start()
        with server.client() as client:
            for _ in range(100):
                self.assertEqual(client.revoke(client.alloc()).outcome, 0)
        for each in readers:
            each.join()
        self.assertEqual(failures, [])
        self.assertEqual(server.end(), 0)

    def test_reader_that_stays_does_not_keep_the_server(self):
        server = self.serve()
        with self.reader() as reader:
            reader.ask(COMMANDS[0])
            self.assertEqual(server.end(), 0)

    def test_threads_run_on_every_processor_that_they_ran_on_without_an_eal(self):
        server = self.serve()
        process = pathlib.Path(f"/proc/{server.process.pid}")
        names = {int(each.name): (each / "comm").read_text(encoding="utf-8").rstrip()
                 for each in (process / "task").iterdir()}
        own = {names[each]: os.sched_getaffinity(each) for each in names
               if names[each] in ("leased", "device", "journal", "model")}  # not the EAL's
        self.assertEqual(own, dict.fromkeys(("leased", "device", "journal", "model"),
                                            os.sched_getaffinity(0)))

    def test_no_telemetry_leaves_no_socket(self):
        self.serve("--no-telemetry")
        self.assertFalse((self.runtime / "dpdk_telemetry.v2").exists())
        self.server.client().close()

    def test_arguments_that_the_eal_refuses_are_named(self):
        with self.assertRaisesRegex(AssertionError, "the EAL refuses .*--no-such-thing"):
            self.serve("--no-such-thing")


if __name__ == "__main__":
    LEASED = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
