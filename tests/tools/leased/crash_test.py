# SPDX-License-Identifier: BSD-3-Clause
"""leased, killed at every point by its name, and at random, while hardware and clients go on.

    crash_test.py CRASHING_LEASED CRASH_RIG FOUL_WEATHER [--kills N] [--members N] [--seed N]
                  [--times N] [TEST]

--kills: how often at random, under --members clients. --times: at how many of its turns, of those
that a named point had in a life without a crash, the server is killed there.
"""

import argparse
import collections
import errno
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import unittest

from crash_crowd import Book, Crowd, Rig
from lease_client import HungUp
from lease_server import DEADLINE_S, Server
from weather import Weather

RESET_DELAY_MS = 30
CONFIG = """
[device]
slots = 4096
grace_ms = 100
[limits]
tenant_leases = 4096
default_ttl_ms = 60000
orphan_ms = 40
challenge_ms = 2000
"""

COMMANDS = ("ALLOC_PD", "CREATE_MKEY", "CREATE_CQ", "CREATE_QP", "RST2INIT_QP", "INIT2RTR_QP",
            "RTR2RTS_QP", "2ERR_QP", "DESTROY_MKEY", "RTS2RTS_QP", "2RST_QP", "DESTROY_QP",
            "DESTROY_CQ", "DEALLOC_PD")
FRAMES = ("HELLO", "LEASE_ALLOC", "LEASE_RENEW", "LEASE_LIST", "LEASE_WATCH", "STATUS",
          "LEASE_HISTORY", "LEASE_CHALLENGE", "LEASE_REVOKE", "REVOKE_TENANT", "REVOKED", "EXPIRED",
          "SERVER_RESTARTED", "REFUSED")
NAMED = (["device.open.before", "device.open.after", "device.reset.after", "device.up.after"] +
         [f"journal.{what}.{when}" for what in ("begin", "write")
          for when in ("before", "commit", "after")] +
         [f"event.{what}.{when}" for what in ("granted", "renewed", "ended", "challenge-met")
          for when in ("before", "told", "after")] +
         [f"command.{name}.{when}" for name in COMMANDS for when in ("before", "sent", "after")] +
         [f"frame.{name}.{when}" for name in FRAMES for when in ("before", "after")])


class World:
    """Hardware, a book, and one server after the other on one journal."""

    def __init__(self, folder, seed):
        self.folder = pathlib.Path(folder)
        self.chance = random.Random(seed)
        self.rig = Rig(CRASH_RIG, self.folder / "hca", RESET_DELAY_MS)
        self.book = Book(self.rig)
        config = self.folder / "leased.toml"
        config.write_text(CONFIG, encoding="utf-8")
        self.server = Server(LEASED, self.folder, "--config", config, "--device", self.rig.device)
        self.weather = Weather(FOUL_WEATHER, self.folder / "weather")
        self.known = 0
        self.kills = 0

    def end(self):
        if self.server.process is not None:
            self.server.end(signal.SIGKILL)
        assert self.rig.end() == 0

    def start(self, **environment):
        """Whether it serves; otherwise it was killed before it did."""
        self.server.popen["env"] = self.weather.over(os.environ | environment)
        try:
            self.server.start()
            return True
        except (AssertionError, HungUp):
            self.server.process.wait(DEADLINE_S)
            if self.server.process.poll() != -signal.SIGKILL:
                raise
            return False

    def crowd(self, members):
        return Crowd(self.book, self.server.socket, self.chance, members, self.known)

    def settle(self, crowd):
        """The server has been killed: what it had said by then counts."""
        self.known = crowd.known
        crowd.drain()

    def bury(self):
        assert self.server.end(None) == -signal.SIGKILL
        self.kills += 1

    def judge(self):
        """The next server, on a function that was reset, and what the last one's clients heard."""
        self.book.check_journal(self.server.journal)
        assert self.start()
        report = self.rig.report()
        if report.resets != report.owners - 1:
            self.book.wrong.append(f"serves, and {report} says that it was not reset")
        with self.server.client() as client:
            self.book.check_next_server(client)
        assert not self.book.wrong and not self.rig.report().wrong, (self.book.wrong, report.wrong)
        self.book.new_life()


class Crashes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.worlds = []

    def tearDown(self):
        for world in self.worlds:
            world.end()
        self.folder.cleanup()

    def world(self, name, seed):
        folder = pathlib.Path(self.folder.name) / name
        folder.mkdir()
        self.worlds.append(World(folder, seed))
        return self.worlds[-1]

    def test_at_each_point_by_its_name(self):
        world = self.world("named", ARGUMENTS.seed)
        turns = self.turns_of_a_whole_life(world)
        self.assertEqual(set(NAMED) ^ set(turns), set(), "named alone, or not named")
        for name in sorted(turns):
            for turn in range(1, min(turns[name], ARGUMENTS.times) + 1):
                with self.subTest(point=name, turn=turn):
                    self.kill_at(world, name, turn)
        report = world.rig.report()
        self.assertGreater(report.orphaned, 0)  # traffic outlived the servers
        print(f"{len(turns)} points, {world.kills} kills, {len(world.book.all)} leases, {report}")

    def turns_of_a_whole_life(self, world):
        """How often a server that is not killed gets to each point, from its start to its end."""
        points = world.folder / "points"
        world.start()
        crowd = world.crowd(0)  # the next server tells it that there was another
        world.known = crowd.known
        crowd.close()
        world.server.end(signal.SIGKILL)
        self.assertTrue(world.start(PORTCULLIS_POINTS=str(points)))
        crowd = world.crowd(12)
        until = time.monotonic() + DEADLINE_S
        while not self.has_all_but_the_end(points) and time.monotonic() < until:
            self.assertFalse(crowd.run(1), repr(crowd.why))
        world.server.process.send_signal(signal.SIGTERM)
        self.assertTrue(crowd.run(DEADLINE_S))
        crowd.drain()
        self.assertEqual(world.server.end(None), 0)
        self.assertEqual(world.book.wrong, [])
        world.book.new_life()
        world.known = crowd.known
        return collections.Counter(points.read_text(encoding="utf-8").split())

    def has_all_but_the_end(self, points):
        seen = set(points.read_text(encoding="utf-8").split())
        return {name for name in NAMED if "DESTROY_CQ" not in name} <= seen

    def kill_at(self, world, name, turn):
        if world.server.process is not None:
            world.server.end(signal.SIGKILL)
        if world.start(PORTCULLIS_CRASH_AT=f"{name}:{turn}"):
            crowd = world.crowd(12)
            # Some come at its end alone; others, on a machine with much else to do, late.
            if not crowd.run(4 if "DESTROY_CQ" in name else 30):
                world.server.process.send_signal(signal.SIGTERM)
                self.assertTrue(crowd.run(DEADLINE_S), "it never ended")
            world.settle(crowd)
        world.bury()
        world.judge()

    def test_at_random_under_clients_that_write(self):
        began, world, totals = time.monotonic(), None, collections.Counter()
        for kill in range(ARGUMENTS.kills):
            if kill % 200 == 0:  # the journal of one world grows
                totals.update(self.counted(world))
                world = self.world(f"random{kill}", ARGUMENTS.seed + kill)
                self.assertTrue(world.start())
            self.kill_at_random(world)
        totals.update(self.counted(world))
        print(f"{ARGUMENTS.kills} kills under {ARGUMENTS.members} clients in "
              f"{time.monotonic() - began:.0f} s: {dict(totals)}")
        self.assertGreater(totals["landed"], 0)
        self.assertGreater(totals["orphaned"], 0)

    def kill_at_random(self, world):
        crowd = world.crowd(ARGUMENTS.members)
        crowd.run(world.chance.uniform(0.0, 1.5))
        self.assertFalse(crowd.is_over, repr(crowd.why))
        world.server.process.send_signal(signal.SIGKILL)
        world.settle(crowd)
        world.bury()
        if world.chance.random() < 0.1:  # and the next one before it serves
            world.server.start_only()
            time.sleep(world.chance.uniform(0.0, 0.15))
            world.server.end(signal.SIGKILL)
            world.kills += 1
        world.judge()

    def test_at_random_while_the_disk_fails(self):
        began, world, totals = time.monotonic(), None, collections.Counter()
        for kill in range(ARGUMENTS.kills):
            if kill % 200 == 0:
                totals.update(self.counted(world))
                world = self.world(f"disk{kill}", ARGUMENTS.seed + kill)
                self.assertTrue(world.start())
            self.kill_in_foul_weather(world, totals)
        slowest_ms = totals.pop("slowest_ms")
        totals.update(self.counted(world))
        print(f"{ARGUMENTS.kills} kills under {ARGUMENTS.members} clients while the disk failed, "
              f"{time.monotonic() - began:.0f} s: {dict(totals)}, the slowest revoke {slowest_ms} "
              "ms, asked to answered")
        self.assertGreater(totals["unavailable"], 0)
        self.assertGreater(totals["landed"], 0)

    def kill_in_foul_weather(self, world, totals):
        """A spell of the disk after the other, of which the server is killed in the last."""
        crowd = world.crowd(ARGUMENTS.members)
        crowd.disk_fails = True
        for _ in range(world.chance.randrange(1, 6)):
            world.weather.be(disk=world.chance.choice((0, errno.EIO, errno.ENOSPC)),
                             spared=world.chance.randrange(30),
                             one_in=world.chance.choice((1, 2, 3, 7, 50)),
                             slow_ms=world.chance.choice((0, 0, 3, 100)))
            crowd.run(world.chance.uniform(0.0, 1.5))
        self.assertFalse(crowd.is_over, repr(crowd.why))
        if world.chance.random() < 0.2:
            self.end_in_fair_weather(world, crowd)
        else:
            world.server.process.send_signal(signal.SIGKILL)
            world.settle(crowd)
            world.bury()
        world.weather.be()
        world.judge()
        totals["unavailable"] += crowd.unavailable
        totals["slowest_ms"] = max(totals["slowest_ms"], round(crowd.slowest_revoke_s * 1e3))

    def end_in_fair_weather(self, world, crowd):
        """Every outcome goes on record then, those too that could not while the disk failed."""
        world.weather.be()
        world.server.process.send_signal(signal.SIGTERM)
        self.assertTrue(crowd.run(DEADLINE_S), "it never ended")
        world.settle(crowd)
        self.assertEqual(world.server.end(None), 0)
        world.book.check_journal(world.server.journal, has_ended=True)
        self.assertEqual(world.book.wrong, [])

    def counted(self, world):
        if world is None:
            return {}
        report = world.rig.report()._asdict() | {"leases": len(world.book.all)}
        world.end()
        self.worlds.remove(world)
        return {name: count for name, count in report.items() if name != "wrong"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("leased")
    parser.add_argument("rig")
    parser.add_argument("weather")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--members", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=1)
    ARGUMENTS, rest = parser.parse_known_args()
    LEASED, CRASH_RIG, FOUL_WEATHER = ARGUMENTS.leased, ARGUMENTS.rig, ARGUMENTS.weather
    unittest.main(argv=sys.argv[:1] + rest)
