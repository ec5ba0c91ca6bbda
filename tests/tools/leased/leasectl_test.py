# SPDX-License-Identifier: BSD-3-Clause
"""leasectl as a person or a script uses it, against leased: what is, what was, and its exit status.

    leasectl_test.py LEASED LEASECTL
"""

import html.parser
import json
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from lease_server import DEADLINE_S, Server

LEASES = 70  # more than a frame's rows
HEEDED_S = 2.5  # a second is promised; the rest is a busy machine's
ALLOC = ("alloc", "--gid", "fe80::99", "--mac", "02:00:00:00:00:09")


class Page(html.parser.HTMLParser):
    """The cells of a page's tables, row by row; every tag that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta"}:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] in {"td", "th"}:
            self.rows[-1].append(data)


class Leasectl(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.server = Server(LEASED, self.folder).start()

    def tearDown(self):
        if self.server.process is not None:
            self.server.end(signal.SIGKILL)

    def ctl(self, *arguments, status=0):
        done = subprocess.run([LEASECTL, "--socket", self.server.socket, *arguments],
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return done.stdout or done.stderr

    def begin(self, *arguments):
        ctl = subprocess.Popen([LEASECTL, "--socket", self.server.socket, *arguments], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(ctl.stdout.close)
        self.addCleanup(ctl.kill)
        return ctl

    def lines(self, *arguments, status=0):
        """Rows, and what the last line says of them."""
        *rows, whole = map(json.loads, self.ctl("--json", *arguments, status=status).splitlines())
        return rows, whole

    def live(self, count):
        """So many leases, granted and revoked; their names."""
        with self.server.client() as client:
            leases = [client.alloc() for _ in range(count)]
            for lease in leases:
                client.revoke(lease)
        return [f"{lease.id:x}:{lease.epoch:x}" for lease in leases]

    def recorded(self, count):
        """So many, and in the journal, for which no revoke waits."""
        names = self.live(count)
        self.until_ended(*names)
        return names

    def until_ended(self, *names):
        until = time.monotonic() + DEADLINE_S
        while not set(names) <= {row["lease"] for row in self.lines("history")[0]}:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def fence(self, name):
        """As if that lease had ended Fenced: the journal says so to the server's next life."""
        self.assertEqual(self.server.end(), 0)
        with sqlite3.connect(self.server.journal) as journal:
            ids = {f"{i % 2**64:x}:{e % 2**64:x}": (i, e)
                   for i, e in journal.execute("SELECT id, epoch FROM lease")}
            journal.execute("UPDATE lease SET outcome=1, memory=3, failed_mask=2 "
                            "WHERE id=? AND epoch=?", ids[name])
        journal.close()
        self.server.start()

    def test_history_is_every_lease_that_ended_the_newest_first(self):
        names = self.recorded(LEASES)
        rows, whole = self.lines("history")
        self.assertEqual(sorted(row["lease"] for row in rows), sorted(names))
        ended = [row["ended_unix_ms"] for row in rows]
        self.assertEqual(ended, sorted(ended, reverse=True))
        self.assertEqual({row["outcome"] for row in rows}, {"TornDown"})
        self.assertEqual({row["cause"] for row in rows}, {"holder"})
        self.assertEqual(whole["rows"], LEASES)

    def test_history_says_what_it_leaves_out(self):
        self.recorded(3)
        rows, whole = self.lines("history", "--most", "2")
        self.assertEqual((len(rows), whole["complete"]), (2, False))
        text = self.ctl("history", "--most", "2")
        self.assertIn("not looked at: older ones than these 2", text)
        self.assertIn("for the journal goes back no further", text)

    def test_journal_that_covers_the_time_asked_for_is_whole(self):
        self.recorded(1)
        self.assertEqual(self.server.end(), 0)
        with sqlite3.connect(self.server.journal) as journal:
            journal.execute("UPDATE server SET started_unix_ms=1")
        journal.close()
        self.server.start()
        rows, whole = self.lines("history")
        self.assertEqual((len(rows), whole["complete"]), (1, True))

    def test_fenced_is_a_status_of_its_own(self):
        name, *_ = self.recorded(2)
        self.assertIn("0 slots are out of use", self.ctl("fenced"))
        self.fence(name)
        rows, _ = self.lines("fenced", status=3)
        self.assertEqual([(row["lease"], row["failed"]) for row in rows],
                         [(name, "DESTROY_MKEY")])
        self.assertIn("Fenced (failed DESTROY_MKEY), memory proved by unmap",
                      self.ctl("fenced", status=3))

    def test_report_is_one_page_that_says_the_same(self):
        name, *_ = self.recorded(LEASES)
        self.fence(name)
        file = self.folder / "day.html"
        self.assertIn(f"{LEASES} leases that ended", self.ctl("report", str(file), "--all"))
        page = Page(file.read_text(encoding="utf-8"))
        self.assertEqual(page.open, [])
        self.assertIn(["holder", str(LEASES - 1), "1"], page.rows)
        self.assertIn(["unmap", "0", "1"], page.rows)
        fenced = [row for row in page.rows if len(row) == 6 and row[1] == name]
        self.assertEqual([row[3:5] for row in fenced], [["DESTROY_MKEY", "unmap"]])
        self.assertIn("emulated: not a NIC", " ".join(page.texts))

    def test_report_that_cannot_be_written_is_refused_first(self):
        self.assertIn("day.html", self.ctl("report", str(self.folder / "no" / "day.html"),
                                           status=2))

    def test_top_counts_what_there_is(self):
        with self.server.client() as client:
            client.alloc()
            text = self.ctl("top", "--rounds", "2", "--every-ms", "100")
        self.assertEqual(text.count("1 held"), 2)
        self.assertIn("a second     0.0 granted", text)
        self.assertNotIn("\x1b", text)

    def test_signal_is_heeded_while_the_server_stands_still(self):
        holder = self.begin(*ALLOC)
        name = holder.stdout.readline().split()[0]
        self.server.process.send_signal(signal.SIGSTOP)
        waiting = [holder] + [self.begin(*words) for words in (
            ("status",), ("list",), ("revoke", "1:1"), ("watch",), ("top",), ALLOC,
            ("revoke-tenant", "1"))]
        time.sleep(0.5)  # they have asked
        since = time.monotonic()
        for each in waiting:
            each.send_signal(signal.SIGTERM)
        for each in waiting:
            each.wait(DEADLINE_S)
        took_s = time.monotonic() - since
        self.server.process.send_signal(signal.SIGCONT)
        self.assertLess(took_s, HEEDED_S)
        self.assertIn("told to stop before it was answered", holder.stdout.read())
        self.until_ended(name)  # it was asked for

    def test_lease_of_who_is_told_to_stop_is_taken_back_and_its_outcome_told(self):
        holder = self.begin(*ALLOC)
        holder.stdout.readline()
        holder.send_signal(signal.SIGTERM)
        self.assertIn("TornDown", holder.stdout.read())
        self.assertEqual(holder.wait(DEADLINE_S), 0)

    def test_zero_is_no_time_and_no_rounds(self):
        for words in (("watch", "--for-ms"), ("top", "--rounds"), (*ALLOC, "--hold-ms")):
            self.assertIn(words[-1], self.ctl(*words, "0", status=2))

    def test_words_that_mean_nothing_are_refused_by_name(self):
        self.assertIn("a number up to 36500 and s, m, h or d", self.ctl(
            "history", "--since", "yesterday", status=2))
        self.assertIn("--every-ms", self.ctl("top", "--every-ms", "1", status=2))

    def test_server_without_a_journal_says_so(self):
        self.server.end()
        self.server.journal = "none"
        self.server.start()
        self.live(1)
        self.assertIn("there is none", self.ctl("history", status=2))


if __name__ == "__main__":
    LEASED, LEASECTL = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
