# SPDX-License-Identifier: BSD-3-Clause
"""Nodes on NICs that their kernel drivers keep. What a server was granting when it was killed is
proved by nothing then, for nobody resets the function: it stays the node's in the fleet, beside
whatever the next server grants.

    kept_test.py KEPT_LEASED LEASECTL FOLDER_OF_LEASE_SERVER [Kept.test_..]
"""

import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet_test
import quota_test
from fleet_node import wait_for
from fleet_test import TENANT, refusal_of

LEFT = 2     # leases of the server that is killed
SPARE_S = 3  # so long behind its last grant a node has given back what it spares


class Kept(quota_test.QuotaTest):
    arguments = ("--device", "mlx5_0")

    def killed_and_back(self):
        """Of two nodes the first is on its second server; a client of each."""
        nodes = self.joined(2)
        with nodes[0].client() as client:
            for _ in range(LEFT):
                client.alloc(ttl_ms=3_600_000)
            nodes[0].end(signal.SIGKILL)
        nodes[0].start()
        nodes[0].wait_until_joined(2)
        return map(self.client, nodes)

    def test_share_of_what_a_killed_server_held_is_no_other_nodes(self):
        quota = LEFT + 2
        self.quota("--leases", quota)
        first, second = self.killed_and_back()

        self.assertEqual(first.list(), [])
        self.assertEqual(self.granted(second, quota), quota - LEFT)
        time.sleep(SPARE_S)
        self.assertEqual(self.shares(), {"node-0": LEFT, "node-1": quota - LEFT})
        self.assertIn("quota in the fleet", refusal_of(first))

    def test_next_server_grants_beside_it_and_gives_back_its_own_alone(self):
        quota = LEFT + 1
        self.quota("--leases", quota)
        first, second = self.killed_and_back()
        lease = first.alloc(ttl_ms=3_600_000)
        self.assertEqual(self.shares()["node-0"], quota)
        self.assertIn("quota in the fleet", refusal_of(first))
        self.assertEqual(first.revoke(lease).outcome, 0)
        wait_for(lambda: refusal_of(second) == "", "its share is not given back")

        self.assertEqual(self.shares(), {"node-0": LEFT, "node-1": 1})

    def test_share_that_is_taken_away_while_the_node_is_stopped_is_everybodys(self):
        self.quota("--leases", LEFT)
        _, second = self.killed_and_back()
        self.assertIn("quota in the fleet", refusal_of(second))
        self.nodes[0].end()
        self.etcd.delete(f"/portcullis/shares/{TENANT}/node-0")
        self.nodes[0].start()
        self.nodes[0].wait_until_joined(3)

        self.assertEqual(self.granted(second, LEFT + 1), LEFT)

    def test_fence_says_of_a_nic_that_was_left_that_nothing_proves_it(self):
        node, = self.joined(1)
        with node.client() as client:
            for _ in range(LEFT):
                client.alloc(ttl_ms=3_600_000)
            node.end(signal.SIGKILL)
        node.arguments[-1:] = ["model", "--leave", "mlx5_0"]
        node.start()
        node.wait_until_joined(2)
        answers, _ = self.revoke("--most-ms", "60000", status=3)

        self.assertEqual((answers["node-0"]["answer"], answers["node-0"]["fenced"]),
                         ("Fenced", LEFT))

    def test_fence_says_that_they_are_proved_by_nothing(self):
        _, second = self.killed_and_back()
        second.alloc(ttl_ms=3_600_000)
        answers, _ = self.revoke("--most-ms", "60000", status=3)

        self.assertEqual((answers["node-0"]["answer"], answers["node-0"]["fenced"]),
                         ("Fenced", LEFT))
        self.assertEqual((answers["node-1"]["answer"], answers["node-1"]["torn_down"]),
                         ("TornDown", 1))


if __name__ == "__main__":
    quota_test.LEASED, quota_test.LEASECTL = sys.argv[1:3]
    fleet_test.unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
