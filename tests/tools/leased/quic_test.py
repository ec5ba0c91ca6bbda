# SPDX-License-Identifier: BSD-3-Clause
"""leased over QUIC as a program, asked by leasectl and by the library for C, with certificates of
leasectl and of openssl.

    quic_test.py LEASED LEASECTL LIBRARY SOURCE_FOLDER
"""

import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LEASED, LEASECTL, LIBRARY, SOURCE = sys.argv[1:5]
sys.path += [f"{SOURCE}/client"]

import portcullis_client  # pylint: disable=wrong-import-position
from lease_server import DEADLINE_S, Server  # pylint: disable=wrong-import-position

HEEDED_S = 2.5  # a second is promised; the rest is a busy machine's
ALLOC = ("alloc", "--gid", "fe80::99", "--mac", "02:00:00:00:00:09")


def run(*arguments, **more):
    return subprocess.run([str(each) for each in arguments], capture_output=True, text=True,
                          timeout=DEADLINE_S, check=False, **more)


class OverQuic(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.pki("init", self.folder)
        self.pki("issue", self.folder, self.folder / "server", "--server", "localhost",
                 "--server", "127.0.0.1")
        self.server = None

    def tearDown(self):
        if self.server is not None and self.server.process is not None:
            self.server.end(signal.SIGKILL)

    def pki(self, *arguments):
        done = run(LEASECTL, "pki", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def serve(self, more=""):
        config = self.folder / "leased.toml"
        config.write_text(f"""
[quic]
listen = "127.0.0.1:0"
authority = "{self.folder}/ca.pem"
certificate = "{self.folder}/server.pem"
key = "{self.folder}/server.key"
revoked = "{self.folder}/revoked.pem"
{more}""", encoding="utf-8")
        self.server = Server(LEASED, self.folder, "--config", config).start()
        self.address = re.search(r"QUIC (\S+?)[;\s]", self.server.greeting + " ").group(1)
        return self.server

    def tenant(self, name, account):
        self.pki("issue", self.folder, self.folder / name, "--client", account)
        return name

    def files(self, name):
        return ("--authority", self.folder / "ca.pem", "--certificate",
                self.folder / f"{name}.pem", "--key", self.folder / f"{name}.key")

    def ctl(self, name, *arguments):
        return run(LEASECTL, "--json", "--server", self.address, *self.files(name), *arguments)

    def library(self, name, **more):
        where = portcullis_client.Quic(self.address, self.folder / "ca.pem",
                                       self.folder / f"{name}.pem", self.folder / f"{name}.key")
        opened = portcullis_client.Client(where, library=LIBRARY, **more)
        self.addCleanup(opened.close)
        return opened

    def test_a_lease_from_its_grant_to_its_outcome(self):
        self.serve()
        alice = self.tenant("alice", "7:client")
        held = self.ctl(alice, *ALLOC, "--hold-ms", "50")
        self.assertEqual((held.returncode, held.stderr), (0, ""))
        lease, ended = [json.loads(line) for line in held.stdout.splitlines()]
        self.assertEqual(lease["bytes"], 65536)
        self.assertEqual(ended["outcome"], "TornDown")
        status = json.loads(self.ctl(alice, "status").stdout)
        self.assertEqual(status["held"], 0)

    def test_another_tenants_lease_is_not_there_and_an_operators_is(self):
        self.serve()
        alice, bob = self.tenant("alice", "7:client"), self.tenant("bob", "8:client")
        root = self.tenant("root", "0:operator")
        lease = self.library(alice).alloc("fe80::99", "02:00:00:00:00:09", 0x11)
        name = f"{lease.id:x}:{lease.epoch:x}"
        self.assertEqual(self.ctl(bob, "list").stdout, "")
        self.assertEqual(self.ctl(bob, "revoke", name).returncode, 4)
        self.assertTrue(lease.is_open)
        self.assertEqual(self.ctl(root, "revoke", name).returncode, 0)
        until = time.monotonic() + DEADLINE_S
        while lease.is_open and time.monotonic() < until:
            time.sleep(0.005)
        self.assertFalse(lease.is_open)

    def test_who_is_on_the_list_is_hung_up_on_and_turned_away(self):
        server = self.serve()
        alice = self.tenant("alice", "7:client")
        self.assertEqual(self.ctl(alice, "status").returncode, 0)
        self.pki("revoke", self.folder, self.folder / "alice.pem")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("was read again")
        refused = self.ctl(alice, "status")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("refused", refused.stderr)

    def test_certificates_of_openssl_are_as_good_and_run_out(self):
        self.serve()
        good = self.openssl_issue("good", "20200101000000Z", "20990101000000Z")
        late = self.openssl_issue("late", "20200101000000Z", "20210101000000Z")
        self.assertEqual(self.ctl(good, "status").returncode, 0)
        refused = self.ctl(late, "status")
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn("refused", refused.stderr)

    def test_list_whose_next_update_is_due_is_refused_when_it_is_read(self):
        self.serve()
        alice = self.tenant("alice", "7:client")
        config = self.folder / "list.cnf"
        config.write_text(f"[ca]\ndefault_ca = own\n[own]\ndatabase = {self.folder}/index.list\n"
                          "default_md = sha256\n", encoding="utf-8")
        (self.folder / "index.list").touch()
        done = run("openssl", "ca", "-config", config, "-gencrl", "-keyfile",
                   self.folder / "ca.key", "-cert", self.folder / "ca.pem", "-crl_lastupdate",
                   "20200101000000Z", "-crl_nextupdate", "20210101000000Z", "-out",
                   self.folder / "revoked.pem")
        self.assertEqual(done.returncode, 0, done.stderr)
        file = self.folder / "leased.toml"
        before = file.read_text(encoding="utf-8")
        file.write_text(before + "[limits]\ntenant_leases = 1\n", encoding="utf-8")
        self.server.process.send_signal(signal.SIGHUP)
        self.server.wait_for_log("the configuration stays as it was")
        self.assertNotIn("was read again", self.server.log_text())
        self.assertEqual(json.loads(self.ctl(alice, "status").stdout)["slots"], 1024)
        file.write_text(before, encoding="utf-8")
        self.assertEqual(self.ctl(alice, "status").returncode, 0)
        self.assertEqual(self.server.end(), 0)
        checked = run(LEASED, "--check-config", "--config", self.folder / "leased.toml")
        self.assertEqual(checked.returncode, 2)
        self.assertIn("revoked.pem", checked.stderr)

    def openssl_issue(self, name, begins, ends):
        """A client of tenant 9, issued by openssl with the authority's key."""
        config = self.folder / f"{name}.cnf"
        config.write_text(f"""
[ca]
default_ca = own
[own]
new_certs_dir = {self.folder}
database = {self.folder}/index.{name}
rand_serial = yes
default_md = sha256
policy = any
[any]
commonName = supplied
[extensions]
subjectAltName = URI:portcullis:9:client
extendedKeyUsage = clientAuth
""", encoding="utf-8")
        (self.folder / f"index.{name}").write_text("", encoding="utf-8")
        for arguments in (
                ("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                 self.folder / f"{name}.key"),
                ("req", "-new", "-key", self.folder / f"{name}.key", "-subj", f"/CN={name}",
                 "-out", self.folder / f"{name}.csr"),
                ("ca", "-batch", "-notext", "-config", config, "-extensions", "extensions",
                 "-cert", self.folder / "ca.pem", "-keyfile", self.folder / "ca.key",
                 "-startdate", begins, "-enddate", ends, "-in", self.folder / f"{name}.csr",
                 "-out", self.folder / f"{name}.pem")):
            done = run("openssl", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / f"{name}.key").chmod(0o600)
        return name

    def test_openssl_verifies_what_leasectl_issued(self):
        self.tenant("alice", "7:client")
        for name, purpose in (("alice", "sslclient"), ("server", "sslserver")):
            done = run("openssl", "verify", "-x509_strict", "-purpose", purpose, "-crl_check",
                       "-CRLfile", self.folder / "revoked.pem", "-CAfile",
                       self.folder / "ca.pem", self.folder / f"{name}.pem")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_server_that_is_killed_ends_the_lease_and_the_next_says_so(self):
        first = self.serve()
        port = self.address.rsplit(":", 1)[1]
        alice = self.tenant("alice", "7:client")
        ended = []
        lease = self.library(alice, on_ended=ended.append).alloc(
            "fe80::99", "02:00:00:00:00:09", 0x11, ttl_ms=3_600_000)
        first.end(signal.SIGKILL)
        config = self.folder / "leased.toml"
        config.write_text(config.read_text(encoding="utf-8").replace(":0\"", f":{port}\""),
                          encoding="utf-8")
        self.server = Server(LEASED, self.folder, "--config", config).start()
        until = time.monotonic() + DEADLINE_S
        while not ended and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual((ended[0].id, ended[0].is_known, ended[0].outcome), (lease.id, True, 0))
        self.assertFalse(lease.is_open)

    def test_signal_is_heeded_while_nobody_answers(self):
        self.serve()
        alice = self.tenant("alice", "7:client")
        self.server.process.send_signal(signal.SIGSTOP)
        with subprocess.Popen([LEASECTL, "--server", self.address, *self.files(alice), "list"],
                              stderr=subprocess.DEVNULL) as ctl:
            time.sleep(0.5)  # it has asked
            since = time.monotonic()
            ctl.send_signal(signal.SIGTERM)
            ctl.wait(DEADLINE_S)
        self.assertLess(time.monotonic() - since, HEEDED_S)

    def test_mistakes_are_named(self):
        self.serve()
        alice = self.tenant("alice", "7:client")
        nobody = run(LEASECTL, "--server", "127.0.0.1:1", *self.files(alice), "status")
        self.assertEqual(nobody.returncode, 2)
        self.assertIn("no leased listens on 127.0.0.1:1", nobody.stderr)
        half = run(LEASECTL, "--server", self.address, "status")
        self.assertEqual(half.returncode, 2)
        self.assertIn("--authority", half.stderr)
        other = run(LEASECTL, "--server", self.address, *self.files(alice), "--server-name",
                    "other.example", "status")
        self.assertEqual(other.returncode, 2)
        self.assertIn("certificate", other.stderr)
        config = self.folder / "bad.toml"
        config.write_text("[quic]\nlisten = \"localhost\"\nauthority = \"/a\"\ncertificate = "
                          "\"/b\"\nkey = \"/c\"\n", encoding="utf-8")
        bad = run(LEASED, "--config", config, "--check-config")
        self.assertNotEqual(bad.returncode, 0)
        self.assertIn("bad.toml:2: listen = \"localhost\"", bad.stderr)


if __name__ == "__main__":
    sys.argv[1:] = []
    unittest.main(verbosity=2)
