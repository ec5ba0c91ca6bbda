# SPDX-License-Identifier: BSD-3-Clause
"""A memory node of a randomised run: hardware that outlives its server (crash_rig), one server
after the other, a watchdog, ways to etcd that can be cut, and clients that write all the time.

Everything that clients and operators hear is held against what the hardware sees.
"""

import collections
import math
import os
import random
import signal
import socket
import threading
import time

import lease_client as wire
from crash_crowd import ALLOC_REFUSALS, Book, Crowd, Rig
from fleet_node import DEADLINE_S, Node
from lease_client import HungUp
from network import Proxy

UNAVAILABLE = 10
ACTIVE = 1           # of a row of LIST
GAVE_UP = "leases did not end in time without etcd"  # of a leased that ends itself
SESSION_S, ISOLATION_S, STALL_S = 3, 4, 4
WATCHDOG_S = 1.5     # and what it takes to kill and to reset belongs to STALL_S
RESET_DELAY_MS = 300
CONFIG = """
[device]
slots = 2048
grace_ms = 100
[limits]
tenant_leases = 2048
default_ttl_ms = {ttl_ms}
most_ttl_ms = {ttl_ms}
orphan_ms = 40
challenge_ms = 2000
"""
PROMISES = {
    "all": f"isolation_s = {ISOLATION_S}\nstall_s = {STALL_S}\n",
    "alone": f"isolation_s = {ISOLATION_S}\n",
    "by TTL": f"renew_alone = false\nstall_s = {STALL_S}\n",
    "nothing": "",
}
TTL_MS = {"by TTL": 5_000}


def ttl_ms(promise):
    return TTL_MS.get(promise, 60_000)


def has_watchdog(promise):
    """A node that gives its word is one."""
    return "stall_s" in PROMISES[promise]


class History:
    """What was asked and answered, and what was done to whom, in the order in which it was seen."""

    def __init__(self):
        self.began = time.monotonic()
        self.lines = []
        self.wrong = []
        self.counts = collections.Counter()

    def add(self, who, what, **more):
        self.counts[what] += 1
        self.lines.append({"s": round(time.monotonic() - self.began, 6), "who": who, "what": what,
                           **more})

    def violation(self, who, text):
        self.wrong.append(f"{who}: {text}")
        self.add(who, "WRONG", text=text)


class Seen:
    """Of one lease, with times of CLOCK_MONOTONIC, for whoever judges the whole."""

    def __init__(self, asked_s):
        self.asked_s = asked_s
        self.told_s = None
        self.over = []    # (by what, when told)
        self.listed = []  # as held, (asked, answered)


class FleetBook(Book):
    """Also knows which of its leases were asked for before a fence that has been answered, and when
    what was told of each."""

    def __init__(self, rig, history, who):
        super().__init__(rig)
        self.history, self.who = history, who
        self.lock = threading.RLock()
        self.fenced_below = 0  # tags: whatever was asked for before has ended
        self.seen = {}         # by tag
        self.names = {}        # to the tag
        self.fences = []       # (tags below it, when it was answered)

    def new_life(self):
        with self.lock:
            super().new_life()

    def granted(self, tag, qpn, psn, lease):
        with self.lock:
            self.history.add(self.who, "granted", tag=tag, id=lease.id, epoch=lease.epoch)
            self.seen[tag].told_s = time.monotonic()
            self.names[lease.id, lease.epoch] = tag
            super().granted(tag, qpn, psn, lease)
            if tag < self.fenced_below:  # sent before and read now, or granted after the answer
                self.rig.ask(f"end {tag} 1")

    def ended(self, name, outcome, memory):
        with self.lock:
            self.history.add(self.who, "ended", id=name[0], epoch=name[1], outcome=outcome)
            if name in self.names and not self.seen[self.names[name]].over:
                self.seen[self.names[name]].over.append(("outcome of", time.monotonic()))
            super().ended(name, outcome, memory)

    def listed(self, names, asked_s, answered_s):
        """These were, as held."""
        with self.lock:
            for name in names & self.names.keys():
                self.seen[self.names[name]].listed.append((asked_s, answered_s))

    def answered(self, below, answer, at_s):
        """A fence that was asked for when `below` was the next tag has this answer: no byte of
        what is older changes from now on. The names that nothing may be left of."""
        with self.lock:
            self.fenced_below = max(self.fenced_below, below)
            self.fences.append((below, at_s))
            older = {name: told for name, told in self.leases.items()
                     if told.tag is not None and told.tag < below}
            for name, told in older.items():
                self.rig.ask(f"end {told.tag} 1")
                if answer == "TornDown" and told.outcome == wire.FENCED:
                    self.wrong.append(f"{name} ended Fenced, and its node is told as TornDown")
            return set(older)


class FleetCrowd(Crowd):
    alloc_refusals = (*ALLOC_REFUSALS, UNAVAILABLE)

    def send(self, member, op, body, about=None):
        if op == wire.ALLOC and about is not None:
            self.book.seen[about[0]] = Seen(time.monotonic())
        if op in (wire.ALLOC, wire.REVOKE):
            self.book.history.add(self.book.who, "alloc" if op == wire.ALLOC else "revoke",
                                  about=about)
        super().send(member, op, body, about)


def moments(line):
    """Of each tag, in seconds, in the order of time."""
    found = collections.defaultdict(list)
    numbers = line.split()[1:]
    for tag, ns in zip(numbers[::2], numbers[1::2]):
        found[int(tag)].append(int(ns) / 1e9)
    return found


class Host:
    def __init__(self, programs, folder, etcd, name, seed, promise, members):
        self.name, self.promise, self.crowd_size = name, promise, members
        self.history = etcd.history
        self.chance = random.Random(f"{seed} {name}")
        self.folder = folder / name
        self.folder.mkdir()
        self.network = etcd.network
        self.members = [each.name for each in etcd.cluster.members]
        self.proxies = [Proxy(each.url, self.network, name, each.name)
                        for each in etcd.cluster.members]
        self.rig = Rig(programs.rig, self.folder / "hca", RESET_DELAY_MS)
        self.book = FleetBook(self.rig, self.history, name)
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(str(self.folder / "notify"))
        self.notices.settimeout(0.1)
        environment = dict(os.environ)
        if has_watchdog(promise):
            environment |= {"NOTIFY_SOCKET": str(self.folder / "notify"),
                            "WATCHDOG_USEC": str(int(WATCHDOG_S * 1e6))}
        self.node = Node(programs.leased, self.folder, name,
                         ",".join(each.url for each in self.proxies), SESSION_S, "--device",
                         self.rig.device, env=environment,
                         more=PROMISES[promise] + CONFIG.format(ttl_ms=ttl_ms(promise)))
        self.is_over = threading.Event()
        self.not_before = 0.0  # it is started again
        self.is_to_end = False
        self.known = 0
        self.lives = 0
        self.threads = [threading.Thread(target=each, name=name)
                        for each in (self.live, self.watch)]

    def begin(self):
        for each in self.threads:
            each.start()

    # ---- One server after the other -------------------------------------------------------------

    def live(self):
        try:
            while not self.is_over.is_set():
                if time.monotonic() >= self.not_before and self.serve():
                    self.run_clients()
                time.sleep(0.01)
        except Exception as error:  # the run goes on, and is a failure
            self.history.violation(self.name, repr(error))
            raise

    def serve(self):
        """Whether it does; otherwise it was killed before."""
        self.is_to_end = False
        try:
            self.node.start()
        except (AssertionError, HungUp, ConnectionError):
            self.bury()
            return False
        self.lives += 1
        self.history.add(self.name, "serves", life=self.lives)
        try:
            with self.node.client() as client:
                self.book.check_next_server(client)
        except (HungUp, OSError):  # killed again; the next one says it
            self.bury()
            return False
        self.book.new_life()
        return True

    def run_clients(self):
        crowd = FleetCrowd(self.book, self.node.socket, self.chance, self.crowd_size, self.known)
        crowd.ttl_ms = ttl_ms(self.promise)
        while not crowd.is_over and not self.is_over.is_set():
            crowd.run(0.2)
        self.known = crowd.known
        if not crowd.is_over:
            return crowd.close()
        crowd.drain()
        self.bury()
        self.book.check_journal(self.node.journal)
        return None

    def bury(self):
        status = self.node.end(None)
        self.history.add(self.name, "is gone", status=status)
        said = self.node.log_text()[-500:]
        was_told = self.is_to_end and status in (0, -signal.SIGTERM)  # the latter as it begins
        if not (status == -signal.SIGKILL or was_told or (status == 1 and GAVE_UP in said)):
            self.history.violation(self.name, f"it ended with status {status}: {said}")

    def watch(self):
        """The watchdog: whoever does not say in time that it is well is killed. It hears as long as
        clients are there, for a server that nobody hears says it once, and then waits."""
        pid, heard = None, 0.0
        while not self.is_over.is_set() or self.threads[0].is_alive():
            process = self.node.process
            if process is None or process.pid != pid:
                pid, heard = process and process.pid, time.monotonic() + DEADLINE_S
            try:
                self.notices.recv(4096)
                heard = time.monotonic()
            except TimeoutError:
                pass
            if has_watchdog(self.promise) and pid and time.monotonic() > heard + WATCHDOG_S:
                self.history.add(self.name, "watchdog")
                process.send_signal(signal.SIGKILL)
                heard = time.monotonic() + DEADLINE_S

    # ---- What is done to it ---------------------------------------------------------------------

    def signal(self, how):
        process = self.node.process
        if process is not None:
            process.send_signal(how)

    def kill(self, lasts_s):
        self.not_before = time.monotonic() + lasts_s
        self.signal(signal.SIGKILL)

    def end(self, lasts_s):
        self.not_before = time.monotonic() + lasts_s
        self.is_to_end = True
        self.signal(signal.SIGTERM)

    def cut(self, which):
        for each in which:
            self.proxies[each].cut()

    def heal(self, which=None):
        for each in self.proxies if which is None else [self.proxies[i] for i in which]:
            each.heal()

    def hold(self, which):
        """Members hear it, and it does not hear them."""
        self.network.hold([(self.members[i], self.name) for i in which])

    def release(self, which):
        self.network.release([(self.members[i], self.name) for i in which])

    # ---- What is judged -------------------------------------------------------------------------

    def next_tag(self):
        return self.book.next_tag

    def answered(self, below, answer, at_s):
        gone = self.book.answered(below, answer, at_s)
        asked_s = time.monotonic()
        try:  # who is not there, or is stopped, says nothing
            with wire.Client(self.node.socket, deadline_s=5) as client:
                listed = {(row.id, row.epoch) for row in client.list() if row.state == ACTIVE}
        except (HungUp, OSError):
            return
        self.book.listed(listed, asked_s, time.monotonic())
        for name in listed & gone:
            self.history.violation(self.name, f"{name} is held after its fence was answered")

    def grants(self):
        try:
            with wire.Client(self.node.socket, deadline_s=5) as client:
                client.alloc()
                return True
        except (HungUp, OSError, wire.Refused):
            return False

    def add_operations(self, operations):
        """Of every lease that was granted; after the end, before the hardware is gone."""
        landed, refused = (moments(self.rig.ask(f"moments {what}"))
                           for what in ("landed", "refused"))
        fences, soonest = sorted(self.book.fences, reverse=True), math.inf
        for tag, seen in sorted(self.book.seen.items(), reverse=True):
            while fences and fences[0][0] > tag:
                soonest = min(soonest, fences.pop(0)[1])
            if seen.told_s is None:
                continue
            if soonest < math.inf:
                seen.over.append(("fence of", soonest))
            operations.add_lease(f"{self.name}/{tag}", seen, landed.get(tag, []),
                                 refused.get(tag, []))

    def close(self, operations):
        self.is_over.set()
        for each in self.threads:
            each.join(DEADLINE_S)
        if self.node.process is not None:
            self.signal(signal.SIGCONT)
            self.node.end(signal.SIGKILL)
        for wrong in self.book.wrong:
            self.history.violation(self.name, wrong)
        self.add_operations(operations)
        report = self.rig.report()
        if report.wrong:
            self.history.violation(self.name, f"the hardware saw: {report.wrong}")
        self.rig.end()
        self.notices.close()
        for each in self.proxies:
            each.close()
        return report
