# SPDX-License-Identifier: BSD-3-Clause
"""The challenge of leased, from the grant to a WRITE that comes over a wire: the model in a process
of its own, and a host beside it whose frames are scapy's.

    challenge_test.py LEASED LEASECTL HCA_SERVER LIBRARY SOURCE_FOLDER
"""

import ipaddress
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

LEASED, LEASECTL, HCA_SERVER, LIBRARY, SOURCE = sys.argv[1:6]
sys.path += [f"{SOURCE}/client"]

# pylint: disable=wrong-import-position
import lease_client as wire
import portcullis_client
from lease_server import DEADLINE_S, FOR_EVERY_SERVER, Server
from roce_writer import RoceWriter

SERVER, CLIENT, STRANGER = "192.0.2.1", "192.0.2.9", "192.0.2.66"
MAC = "02:00:00:00:00:09"
GID = bytes(10) + b"\xff\xff" + ipaddress.ip_address(CLIENT).packed
CAUSE_HOLDER, CAUSE_RESTART, CAUSE_CHALLENGE = 1, 5, 6
LONG, SOME, SHORT = 3_600_000, 6_000, 100  # ms; nothing is to be done within the last


class Challenge(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.server = None

    def tearDown(self):
        if self.server is not None and self.server.process is not None:
            self.server.end(signal.SIGKILL)

    def hardware(self):
        """A model whose wire somebody may join; --device for it."""
        process = subprocess.Popen(
            [HCA_SERVER, "--shm", self.folder / "hca", "--wire",
             f"stream,listen={self.folder}/wire"], text=True, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn("listening", process.stderr.readline())
        return "--device", f"shm:{self.folder}/hca", "--address", SERVER

    def serve(self, within_ms, more=""):
        config = self.folder / "leased.toml"
        config.write_text(f"[limits]\nchallenge_ms = {within_ms}\n{more}", encoding="utf-8")
        self.server = Server(LEASED, self.folder, *self.hardware(), "--config", config).start()
        return self.server

    def host(self):
        writer = RoceWriter(self.folder / "wire", CLIENT, MAC, DEADLINE_S)
        self.addCleanup(writer.close)
        return writer

    def until_met(self, client, lease):
        until = time.monotonic() + DEADLINE_S
        while (told := client.challenge(lease)).challenge == wire.OPEN:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)
        return told

    def test_holder_that_writes_its_nonce_keeps_the_lease(self):
        server, host = self.serve(LONG, "[metrics]\nlisten = \"127.0.0.1:0\"\n"), self.host()
        with server.client() as client:
            lease = client.alloc(gid=GID)
            told = client.challenge(lease)
            self.assertEqual(told.challenge, wire.OPEN)
            self.assertNotEqual(told.nonce, bytes(8))
            self.assertLessEqual(told.left_ms, LONG)
            host.write(lease, told.nonce)
            self.assertTrue(host.is_acknowledged())
            self.assertEqual(self.until_met(client, lease), (bytes(8), 0, wire.MET))
            host.write(lease, bytes(8), psn=1)  # its own from then on
            self.assertTrue(host.is_acknowledged(psn=1))
            self.assertEqual(client.challenge(lease).challenge, wire.MET)
            where = re.search(r"metrics at (\S+)", server.greeting).group(1)
            text = urllib.request.urlopen(where, timeout=DEADLINE_S).read().decode()
            self.assertIn("portcullis_challenges_met_total 1\n", text)
            outcome = client.revoke(lease)
            self.assertEqual((outcome.outcome, outcome.cause), (wire.TORN_DOWN, CAUSE_HOLDER))
        self.assertEqual(server.end(), 0)

    def end_for_it(self, client, *leases):
        """As their holder hears, and as everybody may read afterwards."""
        ended = [client.next_news() for _ in leases]
        self.assertEqual({(news.op, news.id, news.outcome, news.memory, news.cause)
                          for news in ended},
                         {(wire.REVOKED, lease.id, wire.TORN_DOWN, 1, CAUSE_CHALLENGE)
                          for lease in leases})
        for lease in leases:
            self.assertEqual(client.revoke(lease).cause, CAUSE_CHALLENGE)
            with self.assertRaises(wire.Refused) as refused:
                client.challenge(lease)
            self.assertEqual(refused.exception.code, 11)

    def test_holder_that_writes_nothing_loses_it_and_it_is_told_everywhere(self):
        server = self.serve(SOME, "[metrics]\nlisten = \"127.0.0.1:0\"\n")
        with server.client() as client:
            began = time.monotonic()
            lease = client.alloc(gid=GID, ttl_ms=LONG)
            self.assertEqual(client.renew(lease, LONG), LONG)  # puts nothing off
            self.end_for_it(client, lease)
            self.assertGreaterEqual(time.monotonic() - began, SOME / 1000)
            where = re.search(r"metrics at (\S+)", server.greeting).group(1)
            text = urllib.request.urlopen(where, timeout=DEADLINE_S).read().decode()
            self.assertRegex(text, r'leases_ended_total\{cause="challenge",[^}]*TornDown"\} 1\n')
            self.assertIn("portcullis_challenges_met_total 0\n", text)
        name = f"{lease.id:x}:{lease.epoch:x}"
        self.assertEqual(self.history()[name]["cause"], "challenge")
        self.assertEqual(server.end(), 0)
        server.start()  # and on record
        self.assertEqual(self.history()[name]["cause"], "challenge")
        with server.client() as client:
            self.assertEqual(client.revoke(lease).cause, CAUSE_CHALLENGE)

    def ctl(self, *arguments, status=0):
        done = subprocess.run([LEASECTL, "--socket", self.server.socket, "--json", *arguments],
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def history(self):
        rows = {}
        until = time.monotonic() + DEADLINE_S
        while not rows and time.monotonic() < until:  # recorded behind its being told
            rows = {row["lease"]: row for row in self.ctl("history")[:-1]}
        return rows

    def test_wrong_number_wrong_address_wrong_key_and_each_keeps_nothing(self):
        server, host = self.serve(SOME), self.host()
        with server.client() as client:
            number, address, key = (client.alloc(gid=GID) for _ in range(3))
            nonces = [client.challenge(lease).nonce for lease in (number, address, key)]
            host.write(number, nonces[0][::-1])
            self.assertIs(host.is_acknowledged(), True)
            host.write(key, nonces[2], rkey=key.rkey ^ 1, psn=0)
            self.assertIs(host.is_acknowledged(), False)
            host.write(address, nonces[1], source=STRANGER)
            self.end_for_it(client, number, address, key)
            self.assertIsNone(host.is_acknowledged(wait_s=0.001))  # dropped without a word

    def test_client_that_knows_of_no_challenge_hears_the_cause(self):
        server = self.serve(SHORT)
        with server.client() as client:
            lease = client.alloc(gid=GID)
            ended = client.next_news()
            self.assertEqual((ended.id, ended.cause), (lease.id, CAUSE_CHALLENGE))

    def test_killed_while_it_is_open_the_next_server_knows_no_nonce(self):
        server = self.serve(LONG)
        with server.client() as client:
            lease = client.alloc(gid=GID)
            nonce = client.challenge(lease).nonce
        server.end(signal.SIGKILL)
        server.start()
        with server.client() as client:
            with self.assertRaises(wire.Refused) as refused:
                client.challenge(lease)
            self.assertEqual(refused.exception.code, 11)
            self.assertEqual(client.revoke(lease).cause, CAUSE_RESTART)
        server.end()
        for file in self.folder.iterdir():  # journal, log
            if file.is_file():
                data = file.read_bytes()
                self.assertNotIn(nonce, data, file)
                self.assertNotIn(nonce[::-1], data, file)
                self.assertNotIn(nonce.hex().encode(), data.lower(), file)

    def test_lease_that_cannot_be_written_to_is_refused(self):
        with self.serve(LONG).client() as client:
            with self.assertRaises(wire.Refused) as refused:
                client.alloc(gid=GID, access=2)
            self.assertEqual(refused.exception.code, 5)

    def test_leasectl_says_what_to_write_and_why_its_lease_ended(self):
        self.serve(SOME)
        lease, challenge, ended = self.ctl("alloc", "--gid", CLIENT, "--mac", MAC, status=1)
        self.assertRegex(challenge["challenge"], "^[0-9a-f]{16}$")
        self.assertLessEqual(challenge["left_ms"], SOME)
        self.assertEqual((ended["lease"], ended["cause"]), (lease["lease"], "challenge"))

    def test_library_tells_the_nonce_and_waits_until_it_was_seen(self):
        server, host = self.serve(LONG), self.host()
        client = portcullis_client.Client(server.socket, library=LIBRARY)
        self.addCleanup(client.close)
        lease = client.alloc(CLIENT, MAC, 0x11)
        told = client.challenge(lease)
        self.assertEqual(told.state, portcullis_client.CHALLENGE_OPEN)
        with self.assertRaises(portcullis_client.Error) as late:
            client.challenge(lease, wait_ms=1)
        self.assertEqual(late.exception.code, 7)
        host.write(lease, told.nonce)
        self.assertEqual(client.challenge(lease, wait_ms=60_000).state,
                         portcullis_client.CHALLENGE_MET)
        self.assertTrue(lease.is_open)
        client.release(lease)
        with self.assertRaises(portcullis_client.Error) as gone:
            client.challenge(lease)
        self.assertEqual(gone.exception.code, 2)

    def test_model_without_a_wire_is_not_asked_of(self):
        config = self.folder / "leased.toml"
        config.write_text("[limits]\nchallenge_ms = 1000\n", encoding="utf-8")
        for more in (["--check-config"], ["--socket", self.folder / "s", "--journal", "none"]):
            said = subprocess.run([LEASED, *FOR_EVERY_SERVER, "--config", config, *more], text=True,
                                  capture_output=True, timeout=DEADLINE_S, check=False)
            self.assertEqual((said.returncode, said.stderr.count("\n")), (2, 1), said.stderr)
            self.assertIn("challenge_ms = 1000", said.stderr)
        config.write_text("", encoding="utf-8")
        self.server = Server(LEASED, self.folder, "--config", config).start()
        config.write_text("[limits]\nchallenge_ms = 1000\ntenant_leases = 1\n", encoding="utf-8")
        self.server.process.send_signal(signal.SIGHUP)
        self.server.wait_for_log("nobody can write to a model in this process")
        self.server.wait_for_log("the configuration stays as it was")
        with self.server.client() as client:
            leases = [client.alloc() for _ in range(2)]  # the rest of it does not count either
            self.assertEqual(client.challenge(leases[0]).challenge, wire.NONE)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
