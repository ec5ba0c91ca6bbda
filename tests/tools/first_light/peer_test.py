# SPDX-License-Identifier: BSD-3-Clause
"""first-light --peer over two models on one wire, each in a process of its own: the client of the
other host is lease-verify --sweep with our own driver behind it. And peers that are none.

    peer_test.py FIRST_LIGHT HCA_SERVER SWEEPING_PEER
"""

import io
import json
import pathlib
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest

DEADLINE_S = 300


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Peer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.port = free_port()

    def start(self, *words, **more):
        process = subprocess.Popen([*map(str, words)], text=True, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                self.addCleanup(pipe.close)
        return process

    def card(self, name, other, mac, *more):
        server = self.start(HCA_SERVER, "--shm", self.folder / name, "--mac", mac, "--wire",
                            f"dgram,local={self.folder}/{name}.wire,"
                            f"remote={self.folder}/{other}.wire", *more,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertIn("listening", server.stderr.readline())

    def two_hosts(self, *of_the_peers_card):
        self.card("ours", "theirs", "02:50:43:00:00:01")
        self.card("theirs", "ours", "02:50:43:00:00:02", *of_the_peers_card)
        peer = self.start(SWEEPING_PEER, self.folder / "theirs", f"127.0.0.1:{self.port}",
                          stdout=subprocess.PIPE)
        while not peer.stdout.readline().startswith("awaiting"):
            self.assertIsNone(peer.poll())
        return peer

    def light(self, peer=None):
        return subprocess.run(
            [LIGHT, f"shm:{self.folder}/ours", "--address", "192.0.2.1", "--steps",
             "bring-up,peer", "--revokes", "1", "--bundle", self.folder / "a.tar.zst", "--peer",
             peer or f"localhost:{self.port}"],
            text=True, capture_output=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL,
            check=False)

    def files(self):
        plain = subprocess.run(["zstd", "-dc", self.folder / "a.tar.zst"],
                               stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            return {each.name: archive.extractfile(each).read().decode() for each in archive}

    @staticmethod
    def answers(text):
        return dict(each[::-1] for each in re.findall(
            r"^(confirmed|refuted|undecided|not run) +(peer-\S+)", text, re.MULTILINE))

    def test_client_of_another_host_is_asked_and_no_claim_is_wrong(self):
        peer = self.two_hosts("--behaviour", "min-ack-timeout=14")
        said = self.light()
        answers = self.answers(said.stdout)
        self.assertEqual(answers["peer-reached"], "confirmed", said.stdout + said.stderr)
        self.assertEqual(answers["peer-silence"], "confirmed", said.stdout)
        self.assertEqual(answers["peer-nak"], "confirmed", said.stdout)
        self.assertNotEqual(answers["peer-ended"], "refuted", said.stdout)
        self.assertNotEqual(answers["peer-floor-is-budget"], "confirmed", said.stdout)
        self.assertEqual(peer.wait(DEADLINE_S), 0)
        self.assert_bundle_says_it(said)

    def assert_bundle_says_it(self, said):
        files = self.files()
        facts = json.loads(files["facts.json"])["peer"]
        self.assertEqual(facts["vendor"], 0x2c9)
        self.assertEqual(facts["reached"], facts["leases"])
        self.assertEqual(facts["floor"]["points"], 28)
        self.assertGreater(facts["clock_uncertainty_ns"], 0)
        for name, text in files.items():
            self.assertNotIn("localhost", text, name)
            self.assertNotRegex(text, r"\b(192\.0\.2|127\.0\.0)\.", name)
            self.assertNotRegex(text, r"02:50:43", name)
        page = self.folder / "a.html"
        shown = subprocess.run([LIGHT, "show", self.folder / "a.tar.zst", "--html", page],
                               text=True, capture_output=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(self.answers(shown.stdout), self.answers(said.stdout))
        self.assertIn("the offset known to", shown.stdout)
        self.assertIn("the offset known to", page.read_text(encoding="utf-8"))

    def test_peer_that_dies_midway_is_one_line_and_what_was_found_stays(self):
        peer = self.two_hosts()

        def kill():
            while not peer.stdout.readline().startswith("lease 3"):
                pass
            peer.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        said = self.light()
        killer.join()
        self.assertEqual(said.returncode, 3, said.stdout + said.stderr)
        self.assertRegex(said.stdout, r"(?m)^peer +failed .*\n  the peer: [^\n]*\n")
        answers = self.answers(said.stdout)
        self.assertEqual(answers["peer-reached"], "confirmed")
        self.assertEqual(answers["peer-floor-is-budget"], "not run")

    def test_nobody_at_the_peer_is_one_line(self):
        self.card("ours", "theirs", "02:50:43:00:00:01")
        said = self.light()
        self.assertEqual(said.returncode, 3, said.stderr)
        self.assertRegex(said.stdout, r"(?m)^peer +not run .*\n  the peer: [^\n]*is lease-verify "
                                      r"--sweep listening there\?\n")
        self.assertEqual(set(self.answers(said.stdout).values()), {"not run"})
        self.assertNotIn("localhost", self.files()["facts.json"])

    def test_peer_that_takes_the_call_and_says_nothing_is_one_line(self):
        self.card("ours", "theirs", "02:50:43:00:00:01")
        with socket.create_server(("127.0.0.1", self.port)):
            said = self.light()
        self.assertEqual(said.returncode, 3, said.stderr)
        self.assertRegex(said.stdout, r"(?m)^peer +failed .*\n  the peer sent no whole line ")

    def test_words_of_a_stranger_stand_on_the_screen_alone(self):
        self.card("ours", "theirs", "02:50:43:00:00:01")
        words = "220 db2.corp.example ESMTP Postfix"
        with socket.create_server(("127.0.0.1", self.port)) as server:
            def answer():
                caller, _ = server.accept()
                with caller:
                    caller.sendall(f"{words}\n".encode())
                    caller.recv(4096)
                    time.sleep(0.2)
            answering = threading.Thread(target=answer)
            answering.start()
            said = self.light()
            answering.join()
        self.assertEqual(said.returncode, 3)
        self.assertIn(words, said.stderr)
        for name, text in self.files().items():
            self.assertNotIn("corp", text, name)

    def test_port_of_the_other_family_names_no_address_in_the_bundle(self):
        self.two_hosts()
        said = subprocess.run(
            [LIGHT, f"shm:{self.folder}/ours", "--steps", "bring-up,peer", "--revokes", "1",
             "--bundle", self.folder / "a.tar.zst", "--peer", f"localhost:{self.port}"],
            text=True, capture_output=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL,
            check=False)
        self.assertEqual(said.returncode, 3, said.stdout)
        self.assertIn("192.0.2.2", said.stderr)
        for name, text in self.files().items():
            self.assertNotRegex(text, r"192\.0\.2|fe80|" + str(self.folder), name)

    def test_host_that_does_not_exist_is_one_line(self):
        self.card("ours", "theirs", "02:50:43:00:00:01")
        said = self.light("no-such-host.invalid")
        self.assertEqual(said.returncode, 3, said.stderr)
        self.assertRegex(said.stdout, r"(?m)^peer +not run .*\n  the peer: [^\n]*\n")
        self.assertNotIn("no-such-host", self.files()["facts.json"])


if __name__ == "__main__":
    LIGHT, HCA_SERVER, SWEEPING_PEER = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
