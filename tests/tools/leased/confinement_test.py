# SPDX-License-Identifier: BSD-3-Clause
"""leased after it has let go of what it needed to start: what the kernel says of its threads, who
may look into its memory, and that it goes on to serve.

    confinement_test.py LEASED LEASECTL

Root runs leased as nobody. Who is not root can become nobody else, and names himself.
"""

import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import lease_client as wire
from lease_client import Refused
from lease_server import DEADLINE_S, Server

IS_ROOT = os.geteuid() == 0
OTHER = pwd.getpwnam("nobody") if IS_ROOT else pwd.getpwuid(os.geteuid())
# What a process is started with: groups that it is to drop; and as that user.
GROUPS = {"extra_groups": [4, 24]} if IS_ROOT else {}
AS_OTHER = {"user": OTHER.pw_uid, "group": OTHER.pw_gid, "extra_groups": []} if IS_ROOT else {}
NO_CAPABILITIES = "0000000000000000"


def run(*arguments, **more):
    return subprocess.run([str(each) for each in arguments], capture_output=True, text=True,
                          timeout=DEADLINE_S, check=False, **more)


def fields(status):
    return {key: value.split() for key, value in
            (line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())}


class Confinement(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.folder.chmod(0o755)
        self.leased = self.folder / "leased"
        shutil.copy(LEASED, self.leased)  # where another user finds it
        self.server = None

    def tearDown(self):
        if self.server is not None and self.server.process is not None:
            self.server.end(signal.SIGKILL)

    def serve(self, *arguments, config=""):
        """With folders of its own making, that root alone may enter where root starts it."""
        (self.folder / "leased.toml").write_text(config, encoding="utf-8")
        self.server = Server(self.leased, self.folder, "--user", OTHER.pw_name, "--group",
                             str(OTHER.pw_gid), "--config", self.folder / "leased.toml", *arguments,
                             **GROUPS)
        self.server.socket = self.folder / "run" / "leased.sock"
        self.server.journal = self.folder / "state" / "leased.journal"
        return self.server.start()

    def threads(self):
        tasks = pathlib.Path(f"/proc/{self.server.process.pid}/task")
        return [fields(each / "status") for each in tasks.iterdir()]

    def test_every_thread_is_another_user_without_capabilities_and_behind_the_filter(self):
        server = self.serve(config="[metrics]\nlisten = \"127.0.0.1:0\"\n")
        threads = self.threads()
        self.assertGreater(len(threads), 4)
        for each in threads:
            self.assertEqual(each["Uid"], [str(OTHER.pw_uid)] * 4)
            self.assertEqual(each["Gid"], [str(OTHER.pw_gid)] * 4)
            self.assertEqual((each["CapPrm"], each["CapEff"]),
                             ([NO_CAPABILITIES], [NO_CAPABILITIES]))
            self.assertEqual((each["NoNewPrivs"], each["Seccomp"]), (["1"], ["2"]))
        self.assertEqual([each["Groups"] for each in threads if IS_ROOT],
                         [[] for each in threads if IS_ROOT])
        self.assertEqual(server.log_text().count("goes on as user"), 1, server.log_text())

    def test_no_core_is_left_and_nobody_of_the_same_user_reads_its_memory(self):
        self.serve()
        process = f"/proc/{self.server.process.pid}"
        limits = pathlib.Path(f"{process}/limits").read_text(encoding="utf-8")
        self.assertRegex(limits, r"Max core file size +0 +0 ")
        looked = run("cat", f"{process}/environ", **AS_OTHER)
        self.assertIn("Permission denied", looked.stderr)
        self.server.end()
        self.serve("--debuggable")
        looked = run("cat", f"/proc/{self.server.process.pid}/environ", **AS_OTHER)
        self.assertEqual((looked.returncode, looked.stderr), (0, ""))

    def test_filter_is_turned_off_by_option_and_by_file(self):
        self.serve("--no-seccomp")
        self.assertEqual({each["Seccomp"][0] for each in self.threads()}, {"0"})
        self.server.end()
        self.serve(config="[process]\nseccomp = false\n")
        self.assertEqual({each["Seccomp"][0] for each in self.threads()}, {"0"})

    def pki(self, *arguments):
        done = run(LEASECTL, "pki", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def make_pki(self):
        pki = self.folder / "pki"
        pki.mkdir()
        self.pki("init", pki)
        self.pki("issue", pki, pki / "server", "--server", "127.0.0.1")
        self.pki("issue", pki, pki / "alice", "--client", "7:client")
        pki.chmod(0o755)
        os.chown(pki / "server.key", -1, OTHER.pw_gid)
        (pki / "server.key").chmod(0o640)  # docs/leased.md: what SIGHUP reads again
        return pki

    def over_quic(self, pki, *arguments):
        address = re.search(r"QUIC (\S+?)[;\s]", self.server.greeting + " ").group(1)
        return run(LEASECTL, "--server", address, "--authority", pki / "ca.pem", "--certificate",
                   pki / "alice.pem", "--key", pki / "alice.key", *arguments)

    def configuration(self, pki, more=""):
        return f"""
[device]
slots = 20000
[metrics]
listen = "127.0.0.1:0"
[quic]
listen = "127.0.0.1:0"
authority = "{pki}/ca.pem"
certificate = "{pki}/server.pem"
key = "{pki}/server.key"
revoked = "{pki}/revoked.pem"
[limits]
tenant_leases = 20000
{more}
"""

    def test_all_that_it_does_goes_on(self):
        pki = self.make_pki()
        server = self.serve(config=self.configuration(pki))
        self.assertNotIn("SIGHUP will change nothing", server.log_text())
        at_first = server.journal.stat().st_size
        with server.client() as client:
            for plan in range(6):
                self.assertEqual(client.revoke(client.alloc(), plan).outcome, wire.TORN_DOWN)
            # SQLite writes into the file itself when its log has 1,000 pages.
            until = time.monotonic() + DEADLINE_S
            while server.journal.stat().st_size == at_first and time.monotonic() < until:
                last = client.alloc()
                self.assertEqual(client.revoke(last).outcome, wire.TORN_DOWN)
            self.assertGreater(server.journal.stat().st_size, at_first)
            self.assertEqual(self.over_quic(pki, "status").returncode, 0)
            where = re.search(r"metrics at (\S+?)[;\s]", server.greeting + " ").group(1)
            text = urllib.request.urlopen(where, timeout=DEADLINE_S).read().decode()
            self.assertRegex(text, r"portcullis_grants_total [1-9]")
            self.reload(server, self.configuration(pki, "lease_bytes = 4096"))
            with self.assertRaises(Refused):
                client.alloc(size=8192)
            self.pki("revoke", pki, pki / "alice.pem")
            (pki / "revoked.pem").chmod(0o644)
            server.process.send_signal(signal.SIGHUP)
            self.assertIn("refused", self.until_refused(pki))
            held = client.alloc()
            server.process.send_signal(signal.SIGTERM)
            ended = client.next_news()
            while ended.id != held.id:
                ended = client.next_news()
            self.assertEqual((ended.outcome, ended.cause), (wire.TORN_DOWN, 4))
        self.assertEqual(server.end(None), 0)
        self.assertNotIn("journal", server.log_text())
        server.start()
        with server.client() as again:
            self.assertEqual([again.revoke(each).cause for each in (last, held)], [1, 4])

    def reload(self, server, config):
        (self.folder / "leased.toml").write_text(config, encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("was read again")

    def until_refused(self, pki):
        until = time.monotonic() + DEADLINE_S
        said = self.over_quic(pki, "status")
        while said.returncode == 0 and time.monotonic() < until:
            said = self.over_quic(pki, "status")
        return said.stderr

    def test_killed_server_is_followed_by_one_that_knows_what_it_held(self):
        server = self.serve()
        with server.client() as client:
            held = client.alloc()
        server.end(signal.SIGKILL)
        server.start()
        self.assertIn("1 leases of the server before were ended by the reset", server.greeting)
        with server.client() as client:
            self.assertEqual(client.revoke(held).cause, 5)

    def test_who_has_nothing_to_drop_is_told_so_once_and_served(self):
        folder = self.folder / "home"
        folder.mkdir()
        os.chown(folder, OTHER.pw_uid, OTHER.pw_gid)
        log = self.folder / "log"
        environment = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
        with open(log, "w", encoding="utf-8") as stderr, \
                subprocess.Popen([self.leased, "--device=model"], env=environment, text=True,
                                 stdout=subprocess.PIPE, stderr=stderr, **AS_OTHER) as process:
            self.assertIn("serves model", process.stdout.readline())
            with wire.Client(folder / "portcullis" / "leased.sock") as client:
                self.assertEqual(client.revoke(client.alloc()).outcome, wire.TORN_DOWN)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(DEADLINE_S), 0)
        said = log.read_text(encoding="utf-8")
        self.assertEqual(said.count("there is nothing to drop"), 1, said)

    def test_who_is_not_root_becomes_nobody_else(self):
        own = self.folder / "own"
        own.mkdir()
        os.chown(own, OTHER.pw_uid, OTHER.pw_gid)
        said = run(self.leased, "--socket", own / "s", "--journal", "none", "--user", "daemon",
                   **AS_OTHER)
        self.assertEqual(said.returncode, 2, said.stderr)
        self.assertIn("root alone may become another", said.stderr)
        self.assertFalse((own / "s").exists())

    def test_mistakes_are_found_before_anything_is_touched(self):
        for arguments, why in (
                (("--user", "no such user"), '--user "no such user": there is no user of that'),
                (("--user", "root"), '--user "root": another user than root is accepted'),
                (("--group", "nogroup"), "a group is there without a user"),
                (("--user", "4000000001"), "no group of user 4000000001")):
            said = run(self.leased, "--check-config", *arguments)
            self.assertEqual(said.returncode, 2, said.stdout)
            self.assertIn(why, said.stderr)
            self.assertEqual(said.stderr.count("\n"), 1, said.stderr)


if __name__ == "__main__":
    LEASED, LEASECTL = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
