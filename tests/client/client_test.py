# SPDX-License-Identifier: BSD-3-Clause
"""libportcullis-client from Python and from C, against leased as a program.

    client_test.py LEASED LIBRARY SOURCE_FOLDER COMPILER PROGRAM_IN_C FAILOVER_CHECK
"""

import gc
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LEASED, LIBRARY, SOURCE, COMPILER, PROGRAM_IN_C, FAILOVER_CHECK = sys.argv[1:7]
sys.path += [f"{SOURCE}/client", f"{SOURCE}/tests/tools/leased"]

import portcullis_client  # pylint: disable=wrong-import-position
from lease_server import DEADLINE_S, Server  # pylint: disable=wrong-import-position

HOLDER, OPERATOR, EXPIRED, SERVER, RESTART = 1, 2, 3, 4, 5
BUSY = 5  # PORTCULLIS_BUSY of portcullis_client.h


class ClientLibrary(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server(LEASED, self.folder.name).start()
        self.ended = queue.Queue()

    def tearDown(self):
        if self.server.process is not None:
            self.server.end(signal.SIGKILL)
        self.folder.cleanup()

    def client(self):
        opened = portcullis_client.Client(self.server.socket, on_ended=self.ended.put,
                                          library=LIBRARY)
        self.addCleanup(opened.close)
        return opened

    @staticmethod
    def alloc(client, **more):
        """Asked again where a busy machine has the server say so."""
        until = time.monotonic() + DEADLINE_S
        while True:
            try:
                return client.alloc("fe80::99", "02:00:00:00:00:09", 0x11, **more)
            except portcullis_client.Error as refused:
                if refused.code != BUSY or time.monotonic() > until:
                    raise

    def next_end(self):
        return self.ended.get(timeout=DEADLINE_S)

    def test_lease_that_is_given_back(self):
        client = self.client()
        lease = self.alloc(client)
        self.assertTrue(lease.is_open)
        self.assertEqual((lease.bytes, len(lease.gid)), (65536, 16))
        self.assertEqual(client.release(lease).outcome, portcullis_client.TORN_DOWN)
        self.assertFalse(lease.is_open)
        self.assertTrue(self.ended.empty())

    def test_server_that_sets_no_challenge_says_so(self):
        client = self.client()
        told = client.challenge(self.alloc(client))
        self.assertEqual((told.state, told.nonce, told.left_ms),
                         (portcullis_client.NO_CHALLENGE, bytes(8), 0))

    def test_lease_that_is_taken_back_closes_its_gate_and_no_others(self):
        client = self.client()
        lease, other = self.alloc(client), self.alloc(client)
        with self.server.client() as operator:
            operator.revoke(lease)
        end = self.next_end()
        self.assertEqual((end.id, end.is_known, end.outcome, end.cause),
                         (lease.id, True, portcullis_client.TORN_DOWN, HOLDER))
        self.assertFalse(lease.is_open)
        self.assertTrue(other.is_open)

    def test_lease_is_renewed_by_itself(self):
        client = self.client()
        lease = self.alloc(client, ttl_ms=3000)  # long enough for a machine that is busy
        with self.server.client() as watcher:
            with self.assertRaises(TimeoutError):
                watcher.watch()
                watcher.next_news(wait_s=7)
        self.assertTrue(lease.is_open)

    def test_server_that_was_killed_says_on_its_return_how_leases_ended(self):
        client = self.client()
        lease = self.alloc(client)
        self.server.end(signal.SIGKILL)
        self.server.start()
        end = self.next_end()
        self.assertEqual((end.id, end.is_known, end.cause), (lease.id, True, RESTART))
        self.assertFalse(lease.is_open)
        self.assertTrue(self.alloc(client).is_open)

    def test_server_that_is_gone_closes_the_gate_when_it_would_end_the_lease(self):
        self.server.end(signal.SIGTERM)
        config = pathlib.Path(self.folder.name) / "leased.toml"
        config.write_text("[limits]\norphan_ms = 300\n", encoding="utf-8")
        self.server = Server(LEASED, self.folder.name, "--config", config).start()
        lease = self.alloc(self.client(), ttl_ms=3_600_000)
        self.server.end(signal.SIGKILL)
        end = self.next_end()
        self.assertEqual((end.id, end.is_known), (lease.id, False))
        self.assertFalse(lease.is_open)

    @staticmethod
    def dump_of(lease, **region):
        return {"regions": [{"rkey": lease.rkey, "environment": "reuse", "consumer": "notified",
                             **region}],
                "work_requests": [
                    {"wr_id": 1, "opcode": "IBV_WR_RDMA_WRITE", "rkey": lease.rkey,
                     "remote_addr": lease.address, "length": 8, "qp_num": 17,
                     "status": "IBV_WC_RETRY_EXC_ERR"},
                    {"wr_id": 2, "opcode": "IBV_WR_ATOMIC_FETCH_AND_ADD", "rkey": lease.rkey,
                     "remote_addr": lease.address + 4096, "compare_add": 1, "qp_num": 17,
                     "status": "IBV_WC_WR_FLUSH_ERR"}]}

    def test_advice_after_the_outcome_is_the_classifiers_with_the_fence(self):
        client = self.client()
        lease = self.alloc(client)
        end, advice = client.advise(lease, self.dump_of(lease))
        self.assertFalse(lease.is_open)
        self.assertEqual((end.is_known, end.outcome), (True, portcullis_client.TORN_DOWN))
        self.assertEqual(advice, self.classified(self.dump_of(lease, fenced=True)))
        self.assertEqual([each["advice"] for each in advice], ["repost", "never"])
        again, _ = client.advise(lease, self.dump_of(lease))
        self.assertEqual((again.is_known, again.outcome), (True, portcullis_client.TORN_DOWN))

    def test_advice_without_a_server_assumes_no_fence(self):
        client = self.client()
        lease = self.alloc(client)
        self.server.end(signal.SIGKILL)
        end, advice = client.advise(lease, self.dump_of(lease))
        self.assertFalse(end.is_known)
        self.assertEqual(advice, self.classified(self.dump_of(lease)))
        self.assertNotEqual(advice[0]["advice"], "repost")

    def test_advice_for_a_dump_that_says_more_than_it_may_is_refused(self):
        client = self.client()
        lease = self.alloc(client)
        with self.assertRaisesRegex(portcullis_client.Error, "the outcome says whether it is"):
            client.advise(lease, self.dump_of(lease, fenced=True))

    def test_advice_for_a_dump_that_nobody_can_read_is_refused_and_the_lease_kept(self):
        client = self.client()
        lease = self.alloc(client)
        with self.assertRaisesRegex(portcullis_client.Error, "dump:1: ") as error:
            client.advise(lease, {"work_requests": 1})
        self.assertEqual(error.exception.code, 1)  # PORTCULLIS_INVALID
        self.assertTrue(lease.is_open)

    def classified(self, dump):
        """What failover-check says of the same."""
        file = pathlib.Path(self.folder.name) / "dump.json"
        file.write_text(json.dumps(dump), encoding="utf-8")
        done = subprocess.run([FAILOVER_CHECK, "classify", "--json", file], capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)
        return json.loads(done.stdout)

    def test_server_that_hangs_closes_the_gate_when_the_time_is_over(self):
        client = self.client()
        lease = self.alloc(client, ttl_ms=400)
        self.server.process.send_signal(signal.SIGSTOP)
        end = self.next_end()
        self.server.process.send_signal(signal.SIGCONT)
        self.assertEqual((end.id, end.epoch, end.is_known), (lease.id, lease.epoch, False))
        self.assertFalse(lease.is_open)

    def test_challenge_of_a_server_that_hangs_is_waited_for_as_long_as_asked(self):
        client = self.client()
        lease = self.alloc(client)
        self.server.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with self.assertRaises(portcullis_client.Error) as error:
            client.challenge(lease, wait_ms=200)
        took = time.monotonic() - began
        self.server.process.send_signal(signal.SIGCONT)
        self.assertEqual(error.exception.code, 7)  # PORTCULLIS_TIMEOUT
        self.assertLess(took, 4)  # of a request it is 5 s

    def test_server_that_is_gone_is_an_error_and_no_end_of_the_client(self):
        client = self.client()
        self.server.end(signal.SIGKILL)
        with self.assertRaises(portcullis_client.Error) as error:
            while True:
                self.alloc(client)
        self.assertEqual(error.exception.code, 8)
        self.server.start()
        lease = None
        while lease is None:
            try:
                lease = self.alloc(client)
            except portcullis_client.Error as again:
                self.assertEqual(again.code, 8)
        self.assertTrue(lease.is_open)

    def test_mistakes_are_named(self):
        client = self.client()
        with self.assertRaises(portcullis_client.Error) as error:
            self.alloc(client, size=0)
        self.assertEqual((error.exception.code, str(error.exception)),
                         (1, "invalid value: bytes 0; 1 to 67108864 is accepted"))
        with self.assertRaises(portcullis_client.Error) as error:
            portcullis_client.Client(f"{self.folder.name}/nowhere", library=LIBRARY)
        self.assertEqual(error.exception.code, 2)

    def test_a_mistake_too_long_to_tell_is_one_line_with_what_is_accepted(self):
        told = {}
        for path in ("/" + 120 * "a", "/\n\x1b" + 400 * "a"):
            with self.assertRaises(portcullis_client.Error) as error:
                portcullis_client.Client(path, library=LIBRARY)
            told[path] = str(error.exception)
        short, cut = told.values()
        self.assertRegex(cut, "^[ -~]{251}$")
        self.assertIn("aaa .. aaa", cut)
        self.assertEqual(cut[-20:], short[-20:])

    def test_header_for_libibverbs_is_c(self):
        subprocess.run([COMPILER, "-x", "c", "-std=gnu99", "-Wall", "-Wextra", "-pedantic",
                        "-Werror", "-fsyntax-only", f"-I{SOURCE}/client", "-"], text=True,
                       input="#include <portcullis_verbs.h>\n", check=True)

    def test_lease_of_a_client_that_was_closed_is_not_open(self):
        with portcullis_client.Client(self.server.socket, library=LIBRARY) as client:
            lease = self.alloc(client)
            self.assertTrue(lease.is_open)
        self.assertFalse(lease.is_open)
        self.assertEqual(lease.bytes, 65536)

    def test_lease_keeps_its_client_and_its_news(self):
        lease = self.alloc(portcullis_client.Client(self.server.socket, on_ended=self.ended.put,
                                                    library=LIBRARY))
        gc.collect()
        with self.server.client() as operator:
            operator.revoke(lease)
        self.assertEqual(self.next_end().id, lease.id)
        self.assertFalse(lease.is_open)

    def test_client_that_nobody_keeps_leaves_its_lease_to_the_server(self):
        client = portcullis_client.Client(self.server.socket, library=LIBRARY)
        self.alloc(client, ttl_ms=600)
        with self.server.client() as watcher:
            watcher.watch()
            del client
            gc.collect()
            self.assertEqual(watcher.next_news(wait_s=DEADLINE_S).cause, EXPIRED)

    def test_program_that_ends_without_a_word_ends_well(self):
        program = ("import portcullis_client as p, sys, time\n"
                   "def dropped():\n"
                   "    try: p.Client(sys.argv[1], library=sys.argv[2]).alloc(\n"
                   "        'fe80::99', '02:00:00:00:00:09', 0x11, ttl_ms=50)\n"
                   "    except p.Error as refused:\n"
                   "        if refused.code != int(sys.argv[3]): raise\n"
                   "for _ in range(4): dropped()\n"
                   "kept = p.Client(sys.argv[1], on_ended=print, library=sys.argv[2])\n"
                   "time.sleep(0.1)\n")
        for _ in range(5):
            done = subprocess.run([sys.executable, "-c", program, self.server.socket, LIBRARY,
                                   str(BUSY)],
                                  env={**os.environ, "PYTHONPATH": f"{SOURCE}/client"},
                                  capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_client_may_be_closed_from_its_own_news_and_does_nothing_else_there(self):
        told = queue.Queue()

        def hear(end):
            try:
                client.release(other)
            except portcullis_client.Error as error:
                told.put((error.code, str(error)))
            told.put(other.is_open)
            client.close()
            told.put(end.id)

        client = portcullis_client.Client(self.server.socket, on_ended=hear, library=LIBRARY)
        lease, other = self.alloc(client), self.alloc(client)
        with self.server.client() as operator:
            operator.revoke(lease)
        self.assertEqual([told.get(timeout=DEADLINE_S) for _ in range(3)],
                         [(1, "called from on_ended, which must not wait"), True, lease.id])
        self.assertFalse(other.is_open)

    def test_release_that_fails_says_that_the_end_is_not_known(self):
        client = self.client()
        lease = self.alloc(client)
        self.server.end(signal.SIGKILL)
        ffi = portcullis_client._ffi
        end = ffi.new("portcullis_end *", {"is_known": 1, "outcome": 0, "failed_mask": 9})
        error = ffi.new("portcullis_error *")
        code = client._library.portcullis_client_release(client._client, lease._lease, end, error)
        self.assertNotEqual(code, 0)
        self.assertEqual((end.id, end.epoch, end.is_known, end.failed_mask),
                         (lease.id, lease.epoch, 0, 0))

    def test_child_of_a_fork_is_told_and_ends_nothing_of_its_parent(self):
        client = self.client()
        lease = self.alloc(client)
        child = os.fork()
        if child == 0:  # as a program's child, which has its memory and none of its threads
            status = 0
            try:
                self.alloc(client)
                status = 2
            except portcullis_client.Error as error:
                status = 0 if "before a fork" in str(error) else 3
            client.close()
            os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(lease.is_open)
        self.assertEqual(client.release(lease).outcome, portcullis_client.TORN_DOWN)

    def test_what_the_library_would_cut_or_fill_up_is_refused(self):
        client = self.client()
        for mac in ("02:00", "02:00:00:00:00:09:01", "02:00:00:00:00:0x", "0:0:0:0:0:09", ""):
            with self.assertRaisesRegex(ValueError, "six octets such as"):
                client.alloc("fe80::99", mac, 0x11)
        with self.assertRaisesRegex(ValueError, "without NUL"):
            portcullis_client.Client(f"{self.server.socket}\0else", library=LIBRARY)

    def test_program_in_c(self):
        folder = pathlib.Path(self.folder.name)
        program = folder / "lease_client"
        subprocess.run([COMPILER, "-x", "c", "-std=gnu99", "-Wall", "-Wextra", "-pedantic",
                        "-Werror", f"-I{SOURCE}/client", PROGRAM_IN_C, "-x", "none", LIBRARY,
                        f"-Wl,-rpath,{pathlib.Path(LIBRARY).parent}", "-o", program], check=True)
        with subprocess.Popen([program, self.server.socket], stdout=subprocess.PIPE,
                              text=True) as running:
            self.assertEqual(running.stdout.readline(), "granted: 65536 bytes\n")
            with self.server.client() as operator:
                operator.revoke_tenant(operator.server.tenant)
            self.assertEqual(running.stdout.readline(),
                             "ended: known 1 outcome 0 memory 1 cause 1\n")
            self.assertEqual(running.wait(DEADLINE_S), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
