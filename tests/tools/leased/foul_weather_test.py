# SPDX-License-Identifier: BSD-3-Clause
"""leased while its journal goes, its clock is set, and clients or it stand still.

    foul_weather_test.py LEASED LEASECTL FOUL_WEATHER
"""

import errno
import itertools
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import lease_client as wire
from lease_client import Refused
from lease_server import DEADLINE_S, Server
from weather import Weather

LOST = "nothing is granted until it can be written"
AGAIN = "the journal is written again"
UNAVAILABLE = 10
ROOM = "[device]\nslots = 20000\n[limits]\ntenant_leases = 20000\n"  # slots rest
TEN_YEARS_MS = 10 * 365 * 86_400_000


class FoulWeather(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.weather = Weather(FOUL_WEATHER, self.folder / "weather")
        self.server = None

    def tearDown(self):
        if self.server is not None and self.server.process is not None:
            self.server.end(signal.SIGKILL)

    def serve(self, config=ROOM):
        file = self.folder / "leased.toml"
        file.write_text(config, encoding="utf-8")
        self.server = Server(LEASED, self.folder, "--config", file, env=self.weather.over())
        return self.server.start()

    def start_on_copy(self, of, spared, error):
        """A server on a copy of the files of a journal, whose disk fails from a call on: what it
        said where it did not start, and the copy."""
        copy = self.folder / f"{error}.{spared}"
        copy.mkdir()
        for file in of:
            shutil.copy(file, copy)
        self.weather.be(disk=error, spared=spared)
        self.server = Server(LEASED, copy, env=self.weather.over())
        try:
            self.server.start()
        except AssertionError:
            said, status = self.server.log_text(), self.server.end(None)
            self.assertEqual((status, said.count("\n")), (2, 1), said)
            self.assertIn("journal", said)
        else:
            said = None
            self.server.end(signal.SIGKILL)
        self.weather.be()
        return said, copy

    def until(self, so):
        until = time.monotonic() + DEADLINE_S
        while not so() and time.monotonic() < until:
            time.sleep(0.02)
        self.assertTrue(so())

    def lines(self, text):
        return self.server.log_text().count(text)

    def test_journal_that_is_removed_grants_nothing_until_it_is_back(self):
        server = self.serve()
        for nth, name in enumerate(("journal", "journal-wal"), 1):
            with self.subTest(file=name), server.client() as client:
                lease, away = client.alloc(), self.folder / "elsewhere"
                (self.folder / name).rename(away)
                with self.assertRaises(Refused) as refused:
                    client.alloc()
                self.assertEqual(refused.exception.code, UNAVAILABLE)
                self.assertEqual(client.revoke(lease).outcome, wire.TORN_DOWN)
                self.assertIn(f"{name} was removed or replaced", server.log_text())
                away.rename(self.folder / name)
                self.until(lambda: self.lines(AGAIN) == nth)  # pylint: disable=cell-var-from-loop
                self.assertEqual(self.lines(LOST), nth, server.log_text())
                self.assertEqual(client.revoke(client.alloc()).outcome, wire.TORN_DOWN)
        self.assertEqual(server.end(), 0)

    def test_start_on_a_disk_that_fails_at_any_call_says_so_and_loses_no_lease(self):
        server = self.serve()
        with server.client() as client:
            held = [client.alloc() for _ in range(3)]
            ended = client.alloc()
            client.revoke(ended)
            server.end(signal.SIGKILL)
        files = [file for file in self.folder.iterdir() if file.name.startswith("journal")]
        for error in (errno.EIO, errno.ENOSPC):
            for spared in itertools.count():
                with self.subTest(error=errno.errorcode[error], spared=spared):
                    said, copy = self.start_on_copy(files, spared, error)
                    self.server = Server(LEASED, copy).start()
                    with self.server.client() as client:
                        for lease in (*held, ended):
                            self.assertEqual(client.revoke(lease).outcome, wire.TORN_DOWN)
                        self.assertEqual(client.revoke(client.alloc()).outcome, wire.TORN_DOWN)
                    self.assertEqual(self.server.end(), 0)
                if said is None:
                    break
            self.assertGreater(spared, 5)  # of which each refused the start

    def test_first_start_on_a_disk_that_fails_at_any_call_says_so_and_the_next_one_serves(self):
        for error in (errno.EIO, errno.ENOSPC):
            for spared in itertools.count():
                with self.subTest(error=errno.errorcode[error], spared=spared):
                    said, copy = self.start_on_copy([], spared, error)
                    self.server = Server(LEASED, copy).start()
                    self.assertEqual(self.server.end(), 0)
                if said is None:
                    break
            self.assertGreater(spared, 5)

    def test_journal_that_stays_away_ends_with_every_lease_revoked(self):
        server = self.serve()
        with server.client() as client:
            leases = [client.alloc() for _ in range(10)]
            server.journal.unlink()
            server.process.send_signal(signal.SIGTERM)
            ended = {client.next_news().id for _ in leases}
        self.assertEqual(ended, {lease.id for lease in leases})
        self.assertEqual(server.end(None), 0)

    def test_clock_that_is_set_ends_no_lease_and_keeps_none(self):
        server = self.serve()
        with server.client() as client:
            kept = client.alloc(ttl_ms=600_000)
            for ahead_ms in (TEN_YEARS_MS, -TEN_YEARS_MS, 1_000, 0):
                with self.subTest(ahead_ms=ahead_ms):
                    self.weather.be(ahead_ms=ahead_ms)
                    short = client.alloc(ttl_ms=200)
                    ended = client.next_news()
                    self.assertEqual((ended.op, ended.id), (wire.EXPIRED, short.id))
                    now_ms = time.time() * 1_000 + ahead_ms
                    self.assertLess(abs(ended.unix_ms - now_ms), DEADLINE_S * 1_000)
                    self.assertEqual(client.renew(kept, 600_000), 600_000)
                    outcome = client.revoke(client.alloc())
                    self.assertEqual(outcome.outcome, wire.TORN_DOWN)
                    self.assertLess(outcome.revoke_us, 1_000_000)
                    client.next_news()
            self.assertEqual([row.id for row in client.list()], [kept.id])
        self.assertEqual(server.end(), 0)

    def test_holder_that_is_stopped_loses_its_lease_and_hears_of_it_when_it_goes_on(self):
        server = self.serve()
        holder = subprocess.Popen(
            [LEASECTL, "--socket", server.socket, "alloc", "--gid", "fe80::99", "--mac",
             "02:00:00:00:00:09"], text=True, stdout=subprocess.PIPE)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        self.assertTrue(holder.stdout.readline())
        holder.send_signal(signal.SIGSTOP)
        with server.client() as client:
            lease = client.list()[0]
            outcome = client.revoke(lease)
            self.assertEqual(outcome.outcome, wire.TORN_DOWN)
            self.assertLess(outcome.revoke_us, 1_000_000)
        holder.send_signal(signal.SIGCONT)
        self.assertIn("REVOKED", holder.stdout.read())
        self.assertEqual(holder.wait(DEADLINE_S), 1)

    def test_server_that_is_stopped_ends_what_ran_out_and_answers_what_was_asked(self):
        server = self.serve()
        with server.client() as client:
            short, kept, revoked = (client.alloc(ttl_ms=ms) for ms in (500, 600_000, 600_000))
            server.process.send_signal(signal.SIGSTOP)
            asked = client.send(wire.REVOKE, struct.pack("<QQB7x", revoked.id, revoked.epoch, 0))
            time.sleep(1)  # the time of the first runs out
            server.process.send_signal(signal.SIGCONT)
            client.answer(asked, wire.REVOKE)
            ended = {client.next_news().id for _ in range(2)}
            self.assertEqual(ended, {short.id, revoked.id})
            # A fence that it was stopped in may have missed its time, and is listed as FENCED.
            self.assertEqual([row.id for row in client.list() if row.state == 1], [kept.id])


if __name__ == "__main__":
    LEASED, LEASECTL, FOUL_WEATHER = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
