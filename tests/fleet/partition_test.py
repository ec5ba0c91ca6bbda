# SPDX-License-Identifier: BSD-3-Clause
"""An etcd of three members that are cut apart from each other, and nodes that are cut from members.

    partition_test.py LEASED LEASECTL FOLDER_OF_LEASE_SERVER [Partition.test_..]
"""

import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet_test
from etcd_cluster import Cluster
from fleet_node import DEADLINE_S, wait_for
from fleet_test import SESSION_S, TENANT, UNAVAILABLE, FleetTest, refusal_of
from network import Network, Proxy, both

SLOW_S = 0.1  # each way: an election of etcd's waits for a second


class PartitionTest(FleetTest):
    """Members reach each other over a network of its own, and so does a node that asks for it."""

    members = 3

    def cluster(self, name, members=1):
        self.network = Network()
        cluster = Cluster(self.folder / name, members, self.network)
        self.addCleanup(cluster.kill)
        self.addCleanup(self.network.mend)
        return cluster.start()

    def node_at(self, name, members):
        """One that knows these members alone, each over a way of its own."""
        proxies = [Proxy(each.url, self.network, name, each.name) for each in members]
        for each in proxies:
            self.addCleanup(each.close)
        node = self.node(name, ",".join(each.url for each in proxies))
        node.wait_until_joined()
        return node

    def others(self, member):
        return [each for each in self.etcd.members if each is not member]

    def cut_off(self, member):
        """From the other members, both ways; whoever asks it still may. Its ways."""
        ways = both(member.name, [each.name for each in self.others(member)])
        self.network.hold(ways)
        return ways

    def follower(self):
        leader = self.etcd.leader()
        return self.others(leader)[0]

    def ask(self, members, *arguments):
        """`leasectl` at these members: status, and what it printed."""
        done = subprocess.run([fleet_test.LEASECTL, "revoke-tenant", str(TENANT), "--everywhere",
                               "--etcd", ",".join(each.url for each in members), *arguments],
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        return done.returncode, done.stdout + done.stderr


class Partition(PartitionTest):
    """Named by who is cut off, and what comes of it."""

    def test_minority_cut_off_costs_a_node_that_asks_the_others_nothing(self):
        client = self.client(self.node_at("node-0", self.etcd.members))
        client.alloc()
        self.cut_off(self.follower())
        answers, _ = self.revoke("--wait")

        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        self.assertEqual(client.list(), [])
        wait_for(lambda: refusal_of(client) == "", "nothing is granted any more")

    def test_node_that_asks_the_minority_alone_grants_nothing_and_is_unreachable(self):
        alone = self.follower()
        client = self.client(self.node_at("node-0", [alone]))
        held = client.alloc()
        self.cut_off(alone)
        wait_for(lambda: UNAVAILABLE in refusal_of(client), "grants go on")
        status, said = self.ask(self.others(alone), "--most-ms", "2000")

        self.assertEqual(status, 5, said)
        self.assertIn("Unreachable", said)
        self.assertIn(held.id, [row.id for row in client.list()])  # and nobody was told it ended

    def test_minority_that_is_asked_alone_raises_nothing(self):
        alone = self.follower()
        client = self.client(self.node_at("node-0", self.others(alone)))
        client.alloc()
        self.cut_off(alone)
        status, said = self.ask([alone])

        self.assertEqual(status, 2, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertEqual(len(client.list()), 1)

    def test_leader_cut_off_costs_no_certainty(self):
        clients = [self.client(self.node_at(f"node-{i}", self.etcd.members)) for i in range(2)]
        for client in clients:
            client.alloc()
        old = self.etcd.leader()
        self.cut_off(old)
        answers, _ = self.revoke("--wait")

        self.etcd.leader(self.others(old))  # one of them leads now
        self.assertEqual([each["answer"] for each in answers.values()], ["TornDown"] * 2)
        self.assertEqual([client.list() for client in clients], [[], []])

    def test_node_behind_the_old_leader_has_fenced_once_all_is_mended(self):
        old = self.etcd.leader()
        client = self.client(self.node_at("node-0", [old]))
        client.alloc()
        ways = self.cut_off(old)
        wait_for(lambda: UNAVAILABLE in refusal_of(client), "grants go on")
        status, said = self.ask(self.others(old), "--most-ms", "2000")
        self.network.release(ways)
        answers, _ = self.revoke("--wait")

        self.assertEqual(status, 5, said)
        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        self.assertEqual(client.list(), [])

    def test_leader_that_hears_nobody_costs_no_certainty(self):
        client = self.client(self.node_at("node-0", self.etcd.members))
        client.alloc()
        leader = self.etcd.leader()
        self.network.hold([(each.name, leader.name) for each in self.others(leader)])
        answers, _ = self.revoke("--wait")

        self.etcd.leader(self.others(leader))  # one of them leads now
        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        self.assertEqual(client.list(), [])

    def test_leader_that_nobody_hears_costs_no_certainty(self):
        client = self.client(self.node_at("node-0", self.etcd.members))
        client.alloc()
        leader = self.etcd.leader()
        self.network.hold([(leader.name, each.name) for each in self.others(leader)])
        answers, _ = self.revoke("--wait")

        self.etcd.leader(self.others(leader))  # one of them leads now
        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        self.assertEqual(client.list(), [])

    def test_slow_ways_between_members_cost_time_alone(self):
        client = self.client(self.node_at("node-0", self.etcd.members))
        client.alloc()
        for each in self.etcd.members:
            self.network.slow(both(each.name, [other.name for other in self.others(each)]), SLOW_S)
        began = time.monotonic()
        answers, _ = self.revoke("--wait")

        self.assertGreater(time.monotonic() - began, 2 * SLOW_S)  # a write is two ways at least
        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        self.assertEqual(client.list(), [])

    def test_all_members_apart_leave_nothing_certain(self):
        client = self.client(self.node_at("node-0", self.etcd.members))
        client.alloc()
        for each in self.etcd.members[:2]:
            self.cut_off(each)
        status, said = self.ask(self.etcd.members)

        self.assertEqual(status, 2, said)
        wait_for(lambda: UNAVAILABLE in refusal_of(client), "grants go on")
        self.network.mend()
        answers, _ = self.revoke("--wait")
        self.assertEqual(answers["node-0"]["answer"], "TornDown")

    def test_node_that_hears_no_answer_grants_nothing_and_fences_when_it_does(self):
        node = self.node_at("node-0", self.etcd.members)
        client = self.client(node)
        client.alloc()
        self.network.hold([(each.name, "node-0") for each in self.etcd.members])
        wait_for(lambda: UNAVAILABLE in refusal_of(client), "grants go on")
        status, said = self.ask(self.etcd.members, "--most-ms", str(SESSION_S * 100))
        self.network.mend()
        answers, _ = self.revoke("--wait")

        self.assertEqual(status, 5, said)
        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        self.assertEqual(client.list(), [])


if __name__ == "__main__":
    fleet_test.LEASED, fleet_test.LEASECTL = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
