# SPDX-License-Identifier: BSD-3-Clause
"""Clients of a leased that is going to be killed: what they were told, and that it holds.

Rig is what outlives the server (crash_rig.cpp), Book what anybody was told of any lease, Crowd the
clients of one life of the server.
"""

import collections
import select
import shutil
import sqlite3
import struct
import subprocess
import tempfile
import threading
import time

import lease_client as wire
from lease_client import HungUp

DEADLINE_S = 120
PLANS = range(6)
# Invalid value (asked for on purpose), limit, no resources, busy, the server is ending.
ALLOC_REFUSALS = (5, 7, 8, 9, 12)
UNAVAILABLE, NOT_FOUND = 10, 11


Report = collections.namedtuple("Report", "sent landed orphaned owners resets wrong")


class Rig:
    """The hardware and the writers. Kept apart from the server, it is told what clients hear."""

    def __init__(self, program, socket, reset_delay_ms):
        self.device = f"shm:{socket}"
        self.lock = threading.Lock()
        self.process = subprocess.Popen([program, str(socket), str(reset_delay_ms)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask("report")  # it listens

    def ask(self, line):
        with self.lock:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().rstrip("\n")
        assert answer and answer != "not understood", line
        return answer

    def report(self):
        *counts, wrong = (self.ask("report") + " ").split(" ", 5)
        return Report(*map(int, counts), wrong.strip())

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(DEADLINE_S)
        self.process.stdout.close()
        return status


class Told:
    """What was said of one lease."""

    def __init__(self, tag=None):
        self.tag = tag
        self.outcome = None
        self.memory = None


class Book:
    """Every name and outcome that anybody was told; tells the rig in time."""

    def __init__(self, rig):
        self.rig = rig
        self.all = set()    # (id, epoch) of every life
        self.leases = {}    # of this life
        self.next_tag = 1
        self.port = None
        self.wrong = []

    def new_life(self):
        self.leases = {}

    def granted(self, tag, qpn, psn, lease):
        name = lease.id, lease.epoch
        if name in self.all:
            self.wrong.append(f"name {name} was given twice")
        self.all.add(name)
        told = self.leases.setdefault(name, Told())
        told.tag = tag
        if self.port != (lease.gid, lease.mac):
            self.port = lease.gid, lease.mac
            self.rig.ask(f"addresses {wire.GID.hex()} {lease.gid.hex()} {wire.MAC.hex()} "
                         f"{lease.mac.hex()}")
        self.rig.ask(f"grant {tag} {qpn} {lease.qpn} {psn} {lease.rkey} {lease.address} "
                     f"{lease.bytes}")
        if told.outcome is not None:
            self.rig.ask(f"end {tag} {int(told.memory != 0)}")

    def challenged(self, name, nonce):
        self.rig.ask(f"meet {self.leases[name].tag} {nonce.hex()}")

    def ended(self, name, outcome, memory):
        if outcome == wire.NOT_FOUND:
            self.wrong.append(f"{name} was granted, and NotFound")
            return
        told = self.leases.setdefault(name, Told())
        if told.outcome is not None:
            if (told.outcome, told.memory) != (outcome, memory):
                self.wrong.append(f"{name} was told {told.outcome} proved by {told.memory}, then "
                                  f"{outcome} proved by {memory}")
            return
        told.outcome, told.memory = outcome, memory
        if told.tag is not None:
            self.rig.ask(f"end {told.tag} {int(memory != 0)}")

    def check_journal(self, journal, has_ended=False):
        """What was told is in the file, or nothing else is; all of it where the server `has_ended`
        by itself. On a copy, for the next server is to find it as this one left it."""
        with tempfile.TemporaryDirectory() as folder:
            for suffix in ("", "-wal"):
                if journal.with_name(journal.name + suffix).exists():
                    shutil.copy(f"{journal}{suffix}", f"{folder}/journal{suffix}")
            database = sqlite3.connect(f"{folder}/journal")
            for (number, epoch), told in self.leases.items():
                row = database.execute(
                    "SELECT outcome FROM lease WHERE id=? AND epoch=?",
                    struct.unpack("<qq", struct.pack("<QQ", number, epoch))).fetchone()
                if row is None and told.tag is not None:
                    self.wrong.append(f"{number, epoch} was granted and is not on record")
                elif has_ended and row and row[0] is None:
                    self.wrong.append(f"{number, epoch} has no outcome on record")
                elif row and None not in (row[0], told.outcome) and row[0] != told.outcome:
                    self.wrong.append(f"{number, epoch} was told {told.outcome}, on record is "
                                      f"{row[0]}")
            database.close()

    def check_next_server(self, client):
        """It says of every lease what was told of it, or that the reset has ended it."""
        for name, told in self.leases.items():
            again = client.revoke(wire.Lease(*name, *[0] * 12))
            if told.tag is None and again.outcome == wire.NOT_FOUND:
                continue  # its end was told and recorded by nobody who had heard of its grant
            by_reset = (again.outcome, again.memory) == (wire.TORN_DOWN, 6)
            same = (again.outcome, again.memory) == (told.outcome, told.memory)
            unheard = told.outcome is None and again.outcome == wire.TORN_DOWN
            if not (by_reset or same or unheard):
                self.wrong.append(f"{name}: told {told.outcome} proved by {told.memory}, after the "
                                  f"restart {again.outcome} proved by {again.memory}")


class Member:
    """One client: asks one thing at a time."""

    def __init__(self, path, known):
        self.client = wire.Client(path, known_incarnation=known, deadline_s=DEADLINE_S)
        self.client.socket.setblocking(False)
        self.asked = None      # (request id, op, what it was about)
        self.asked_at = 0.0
        self.lease = None
        self.watches = False
        self.not_before = 0.0

    def fileno(self):
        return self.client.socket.fileno()


class Crowd:
    alloc_refusals = ALLOC_REFUSALS
    disk_fails = False  # then nothing is granted, and the past may not be readable
    ttl_ms = 60_000  # of all but the leases that are to end by it

    def __init__(self, book, path, chance, members, known=0):
        self.book = book
        self.path = path
        self.chance = chance
        self.known = known
        self.is_over = False
        self.why = None        # what the first client to see that had of it
        self.members = []
        self.ops = 0
        self.unavailable = 0   # what was refused for it
        self.slowest_revoke_s = 0.0
        self.grants = []       # answers to ALLOC that are told when every end before them is
        try:
            self.join().not_before = float("inf")  # hears of every end, and asks for nothing else
            self.send(self.members[0], wire.WATCH, struct.pack("<Q", wire.EVERY_TENANT))
            for _ in range(members):
                self.join()
        except (HungUp, OSError) as error:
            self.end(error)

    def end(self, why):
        self.is_over = True
        self.why = self.why or why

    def join(self):
        member = Member(self.path, self.known)
        self.known = member.client.server.incarnation
        self.members.append(member)
        for news in member.client.news:
            self.hear_notice(news)
        member.client.news.clear()
        return member

    def run(self, seconds):
        """Until the server is gone or the time is over."""
        until = time.monotonic() + seconds
        while not self.is_over and time.monotonic() < until:
            self.ask_all()
            self.hear(0.005)
        return self.is_over

    def drain(self):
        """What was sent before the server went has been told."""
        until = time.monotonic() + DEADLINE_S
        while (self.members or self.grants) and time.monotonic() < until:
            self.hear(0.01)
        assert not self.members

    def close(self):
        for member in self.members:
            member.client.close()
        self.members = []

    def ask_all(self):
        now = time.monotonic()
        for member in list(self.members):
            if member.asked is None and now >= member.not_before:
                try:
                    self.ask(member, now)
                except (HungUp, OSError) as error:
                    return self.end(error)

    def ask(self, member, now):
        dice = self.chance.random()
        member.not_before = now + self.chance.uniform(0.0, 0.02)
        if member.lease is None:
            if dice < 0.03:
                self.send(member, wire.ALLOC, wire.Client.alloc_body(size=0))
            else:
                self.ask_alloc(member)
        elif dice < 0.5:
            name = member.lease
            self.send(member, wire.REVOKE,
                      struct.pack("<QQB7x", *name, self.chance.choice(PLANS)), name)
            member.lease = None
        elif dice < 0.6:
            self.send(member, wire.RENEW, struct.pack("<QQQ", *member.lease, self.ttl_ms))
        elif dice < 0.64:
            self.send(member, wire.LIST, struct.pack("<QQ", wire.EVERY_TENANT, 0))
        elif dice < 0.68:
            self.send(member, wire.STATUS, bytes(8))
        elif dice < 0.71 and not member.watches and sum(m.watches for m in self.members) < 3:
            member.watches = True
            self.send(member, wire.WATCH, struct.pack("<Q", wire.EVERY_TENANT))
        elif dice < 0.72:
            self.send(member, wire.REVOKE_TENANT, struct.pack("<Q", member.client.server.tenant))
        elif dice < 0.84:
            self.send(member, wire.CHALLENGE, struct.pack("<QQ", *member.lease), member.lease)
        elif dice < 0.86:
            self.send(member, wire.HISTORY, struct.pack("<QQQQQB7x", wire.EVERY_TENANT, *[0] * 5))
        elif dice < 0.9:  # leaves its lease, and comes back as another
            self.members.remove(member)
            member.client.close()
            self.join()

    def ask_alloc(self, member):
        tag = self.book.next_tag
        self.book.next_tag += 1
        qpn, psn = 0x100 + tag % 0xfff000, self.chance.randrange(1 << 24)
        ttl_ms = 30 if self.chance.random() < 0.1 else self.ttl_ms
        size = self.chance.choice([4096, 4096, 12288])
        body = wire.Client.alloc_body(size=size, ttl_ms=ttl_ms, qpn=qpn, psn=psn, ack_timeout=8)
        self.send(member, wire.ALLOC, body, (tag, qpn, psn))

    def send(self, member, op, body, about=None):
        member.asked, member.asked_at = (member.client.send(op, body), op, about), time.monotonic()
        self.ops += 1

    def hear(self, wait_s):
        """All that has come. A grant is told to the rig a round later than it was read: by then
        every end that the server sent before it has been read, too, on whatever connection."""
        grants, self.grants = self.grants, []
        ready = select.select(self.members, [], [], 0 if grants else wait_s)[0]
        for member in ready:
            for op, request_id, body in self.read(member):
                self.hear_one(member, op, request_id, body)
        for member, about, lease in grants:
            self.book.granted(*about, lease)
            member.lease, member.asked = (lease.id, lease.epoch), None
            if self.book.leases[member.lease].outcome is not None:
                member.lease = None

    def read(self, member):
        came = []
        try:
            while data := member.client.socket.recv(65536):
                length, op, _, request_id = struct.unpack_from("<IHHQ", data)
                assert length == len(data), data
                came.append((op, request_id, data[16:]))
            self.end(HungUp())
        except BlockingIOError:
            return came
        except OSError as error:
            self.end(error)
        member.client.close()
        self.members.remove(member)
        return came

    def hear_one(self, member, op, request_id, body):
        if request_id == 0:
            member.client.keep(op, body)
            while member.client.news:
                self.hear_notice(member.client.news.popleft())
            return
        assert member.asked and member.asked[0] == request_id, (op, request_id)
        _, asked, about = member.asked
        if op == wire.ALLOC | wire.ANSWER:
            lease = wire.Lease(*struct.unpack("<5Q16s6sHIIIBBBx", body))
            self.grants.append((member, about, lease))
            return
        member.asked = None
        if op == wire.REFUSED:
            code, _, text = struct.unpack("<HH124s", body)
            self.hear_refusal(member, asked, code, text.rstrip(b"\0").decode())
        elif op == wire.CHALLENGE | wire.ANSWER:
            nonce, _, state = struct.unpack("<8sQB7x", body)
            if state == wire.OPEN:
                self.book.challenged(about, nonce)
        elif op == wire.REVOKE | wire.ANSWER:
            outcome = wire.Outcome(*struct.unpack("<QQQI3Bx", body))
            if (outcome.id, outcome.epoch) != about:
                self.book.wrong.append(f"asked for {about}, answered of {outcome}")
            self.book.ended(about, outcome.outcome, outcome.memory)
            self.slowest_revoke_s = max(self.slowest_revoke_s, time.monotonic() - member.asked_at)

    def hear_refusal(self, member, asked, code, text):
        if asked == wire.RENEW or (asked, code) == (wire.CHALLENGE, NOT_FOUND):
            member.lease = None  # it has ended
        elif self.disk_fails and code == UNAVAILABLE and asked in (wire.ALLOC, wire.HISTORY):
            self.unavailable += 1
        elif asked != wire.ALLOC or code not in self.alloc_refusals:
            self.book.wrong.append(f"{asked:#x} was refused: {code} {text}")

    def hear_notice(self, news):
        if news.op == wire.RESTARTED:
            return
        name = news.id, news.epoch
        self.book.ended(name, news.outcome, news.memory)
        for member in self.members:
            if member.lease == name:
                member.lease = None
