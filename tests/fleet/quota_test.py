# SPDX-License-Identifier: BSD-3-Clause
"""Quotas over a fleet and the way to a node that has room: several leased, each with a model, one
etcd of Debian's, leasectl, and clients that ask all at once. Judged by what the nodes themselves
hold.

    quota_test.py LEASED LEASECTL FOLDER_OF_LEASE_SERVER LIBRARY FOLDER_OF_CLIENT [Quotas.test_..]
"""

import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet_test
from fleet_node import DEADLINE_S, wait_for
from fleet_test import SESSION_S, TENANT, FleetTest, refusal_of
from lease_client import Refused
from network import Proxy

PAGE = 4096
LIMIT = 7            # code of a refusal: a limit of the tenant's
PEER = ["--gid", "fe80::99", "--mac", "02:00:00:00:00:09"]
ALONE = f"isolation_s = {SESSION_S}\nstall_s = 1\n"  # a promise that makes a node Expired


class QuotaTest(FleetTest):
    def setUp(self):
        super().setUp()
        fleet_test.LEASED, fleet_test.LEASECTL = LEASED, LEASECTL

    def leasectl(self, *arguments, status=0):
        """What it prints, a JSON object a line. An etcd whose disk is busy is asked again."""
        until = time.monotonic() + DEADLINE_S
        while True:
            done = subprocess.run([LEASECTL, "--json", *map(str, arguments)], capture_output=True,
                                  text=True, timeout=DEADLINE_S, check=False)
            is_slow = "Operation timed out" in done.stderr or "no session with" in done.stderr
            if done.returncode == status or not is_slow or time.monotonic() > until:
                break
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def quota(self, *arguments):
        """The tenant's as a whole."""
        return self.leasectl("quota", TENANT, "--etcd", self.etcd.urls, *arguments)[-1]

    def shares(self):
        """What each node has taken, by its name: leases."""
        *nodes, _ = self.leasectl("quota", TENANT, "--etcd", self.etcd.urls)
        return {each["node"]: each["taken"]["leases"] for each in nodes}

    def held(self, clients):
        """By the nodes' own word."""
        return sum(len(each.list()) for each in clients)

    def granted(self, client, most):
        """How many of so many are granted, one after the other."""
        return sum(refusal_of(client) == "" for _ in range(most))


class Asking:
    """A client for each of `nodes`, all at once: takes a lease, holds it for a while, gives it
    back, and again, until they are told to end."""

    def __init__(self, nodes):
        self.changes, self.codes, self.over = [], set(), threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=[each], daemon=True)
                        for each in nodes]
        for each in self.threads:
            each.start()

    def ask(self, node):
        with node.client() as client:
            while not self.over.is_set():
                try:
                    lease = client.alloc(ttl_ms=3_600_000)
                except Refused as refused:
                    self.codes.add(refused.code)
                    time.sleep(0.01)
                    continue
                self.changes.append((time.monotonic(), 1))
                time.sleep(0.05)
                self.changes.append((time.monotonic(), -1))
                client.revoke(lease)

    def end_after(self, more):
        """So many leases, from now on."""
        wanted = self.granted() + more
        wait_for(lambda: self.granted() >= wanted, "nothing is granted")
        self.over.set()
        for each in self.threads:
            each.join(DEADLINE_S)

    def granted(self):
        return sum(change > 0 for _, change in list(self.changes))

    def most_held(self):
        """For certain: from when the client was told of it until it asks for the end."""
        return max(itertools.accumulate(change for _, change in sorted(self.changes)))


class Quotas(QuotaTest):
    def test_clients_that_ask_all_at_once_never_have_more_than_the_quota(self):
        quota, nodes = 10, self.joined(3)
        self.quota("--leases", quota)
        asking = Asking(nodes * 8)
        asking.end_after(200)

        self.assertLessEqual(asking.most_held(), quota)
        self.assertIn(LIMIT, asking.codes)
        wait_for(lambda: sum(self.shares().values()) == 0, "shares stay taken")

    def test_all_that_is_granted_at_once_is_the_quota_and_no_more(self):
        quota, nodes = 7, self.joined(3)
        self.quota("--leases", quota)
        clients = [self.client(each) for each in nodes for _ in range(4)]
        askers = [threading.Thread(target=self.granted, args=[each, 3]) for each in clients]
        for each in askers:
            each.start()
        for each in askers:
            each.join(DEADLINE_S)

        self.assertLessEqual(self.held(clients[::4]), quota)
        # What one of them spares is another's in a while.
        wait_for(lambda: all(refusal_of(each) != "" for each in clients[::4])
                 and self.held(clients[::4]) == quota, "the quota is not used up")

    def test_bytes_are_counted_in_whole_pages_over_all_nodes(self):
        first, second = map(self.client, self.joined(2))
        self.quota("--bytes", 3 * PAGE)
        first.alloc(size=PAGE + 1)
        self.assertIn("quota in the fleet", self.refusal_of_size(second, PAGE + 1))

        self.assertEqual(self.refusal_of_size(second, PAGE), "")

    @staticmethod
    def refusal_of_size(client, size):
        try:
            client.alloc(size=size)
            return ""
        except Refused as refused:
            return refused.text

    def test_share_is_given_back_after_the_outcome(self):
        first, second = map(self.client, self.joined(2))
        self.quota("--leases", 1)
        lease = first.alloc(ttl_ms=3_600_000)
        self.assertIn("other nodes have 1 leases", refusal_of(second))
        self.assertEqual(first.revoke(lease).outcome, 0)

        wait_for(lambda: refusal_of(second) == "", "the share is not given back")
        self.assertEqual(len(first.list()), 0)

    def test_quota_that_comes_below_what_is_held_ends_nothing(self):
        clients = [self.client(each) for each in self.joined(2)]
        for each in clients:
            self.assertEqual(self.granted(each, 3), 3)
        self.quota("--leases", 2)
        wait_for(lambda: self.shares() == {"node-0": 3, "node-1": 3}, "spare shares stay")

        self.assertEqual([refusal_of(each) != "" for each in clients], [True, True])
        self.assertEqual(self.held(clients), 6)

    def test_quota_that_is_raised_or_lifted_is_heard_of(self):
        client = self.client(self.joined(1)[0])
        self.quota("--leases", 0)
        wait_for(lambda: refusal_of(client) != "", "the quota is not heard of")
        before = len(client.list())
        self.quota("--leases", before + 1)
        self.assertEqual(refusal_of(client), "")
        self.assertIn("quota in the fleet", refusal_of(client))
        self.quota("--no-limit")

        self.assertEqual(self.granted(client, 3), 3)

    def test_node_that_was_killed_keeps_its_share_until_it_is_back(self):
        nodes = self.joined(2)
        first, second = map(self.client, nodes)
        self.quota("--leases", 2)
        self.assertEqual(self.granted(first, 2), 2)
        nodes[0].end(signal.SIGKILL)
        wait_for(lambda: self.etcd.get("/portcullis/sessions/node-0") is None, "session stays")
        self.assertIn("other nodes have 2 leases", refusal_of(second))
        nodes[0].start()
        nodes[0].wait_until_joined(2)

        wait_for(lambda: refusal_of(second) == "", "its share stays, with nothing held")
        wait_for(lambda: self.shares()["node-0"] == 0, "its share stays")

    def test_node_behind_a_cut_keeps_its_share(self):
        proxy = Proxy(self.etcd.members[0].url)
        self.addCleanup(proxy.close)
        cut, other = self.node("node-0", proxy.url), self.node("node-1")
        for each in (cut, other):
            each.wait_until_joined()
        first, second = self.client(cut), self.client(other)
        self.quota("--leases", 2)
        first.alloc(ttl_ms=3_600_000)
        first.alloc(ttl_ms=3_600_000)
        proxy.cut()
        wait_for(lambda: self.etcd.get("/portcullis/sessions/node-0") is None, "session stays")

        self.assertIn("other nodes have 2 leases", refusal_of(second))
        self.assertEqual(len(first.list()), 2)
        proxy.heal()
        cut.wait_until_joined(2)
        wait_for(lambda: "other nodes have 0" in refusal_of(first)
                 or "quota in the fleet" in refusal_of(first), "it grants above the quota")
        self.assertEqual(self.held([first, second]), 2)

    def test_share_of_a_node_that_is_expired_is_given_back(self):
        gone = self.node("node-0", more=ALONE, env=os.environ | {"WATCHDOG_USEC": "1000000"})
        other = self.node("node-1")
        for each in (gone, other):
            each.wait_until_joined()
        second = self.client(other)
        self.quota("--leases", 1)
        self.client(gone).alloc(ttl_ms=3_600_000)
        gone.end(signal.SIGKILL)
        answers, _ = self.revoke("--wait", status=6)

        self.assertEqual(answers["node-0"]["answer"], "Expired")
        self.assertEqual(self.shares()["node-0"], 0)
        self.assertEqual(refusal_of(second), "")

    def test_node_that_ended_with_nothing_held_has_no_share(self):
        nodes = self.joined(2)
        second = self.client(nodes[1])
        self.quota("--leases", 1)
        self.client(nodes[0]).alloc()
        self.assertEqual(nodes[0].end(), 0)

        wait_for(lambda: refusal_of(second) == "", "its share stays taken")

    def test_compacted_store_changes_nothing(self):
        nodes = self.joined(2)
        first, second = map(self.client, nodes)
        nodes[0].process.send_signal(signal.SIGSTOP)
        self.quota("--leases", 1)
        self.etcd.compact()
        self.assertEqual(refusal_of(second), "")
        nodes[0].process.send_signal(signal.SIGCONT)

        wait_for(lambda: "quota in the fleet" in refusal_of(first), "it grants above the quota")
        self.assertEqual(self.held([first, second]), 1)

    def test_quota_that_cannot_be_read_grants_nothing(self):
        client = self.client(self.joined(1)[0])
        self.etcd.put(f"/portcullis/quotas/{TENANT}", '{"leases": "many"}')

        wait_for(lambda: "cannot be read" in refusal_of(client), "it grants by no quota")
        done = subprocess.run([LEASECTL, "quota", str(TENANT), "--etcd", self.etcd.urls], text=True,
                              capture_output=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("unknown", done.stdout)
        self.assertIn(f"the quota of tenant {TENANT} cannot be read", done.stderr)

    def test_without_a_quota_a_tenant_has_what_nodes_grant(self):
        clients = [self.client(each) for each in self.joined(2)]

        self.assertEqual([self.granted(each, 20) for each in clients], [20, 20])
        self.assertFalse(self.quota()["has_quota"])


class QuotasOfThree(QuotaTest):
    """etcd has three members: what one has not answered is asked of the next, and done twice."""

    members = 3

    def test_members_that_are_killed_and_stopped_let_nobody_have_more(self):
        quota, nodes = 6, self.joined(3)
        self.quota("--leases", quota)
        asking = Asking(nodes * 4)
        for member in self.etcd.members:
            member.process.send_signal(signal.SIGSTOP)
            time.sleep(1)
            member.process.send_signal(signal.SIGCONT)
        leader = self.etcd.leader()
        leader.kill()
        time.sleep(1)
        leader.start()
        asking.end_after(50)

        self.assertLessEqual(asking.most_held(), quota)
        wait_for(lambda: sum(self.shares().values()) == 0, "shares stay taken")


class QuotasOfAFullEtcd(QuotaTest):
    """etcd takes no more than a megabyte."""

    def cluster(self, name, members=1):
        cluster = fleet_test.Cluster(self.folder / name, members)
        cluster.members[0].more = ["--quota-backend-bytes", "1048576"]
        self.addCleanup(cluster.kill)
        return cluster.start()

    def fill(self):
        for _ in range(64):
            try:
                self.etcd.put("/elsewhere", "x" * 500_000)
            except OSError:
                return
        self.fail("etcd takes it all")

    def test_share_that_is_taken_is_granted_and_no_more(self):
        client = self.client(self.joined(1)[0])
        self.quota("--leases", 2)
        lease = client.alloc(ttl_ms=3_600_000)
        self.fill()
        wait_for(lambda: "space exceeded" in refusal_of(client), "it grants without a share")

        self.assertEqual(client.revoke(lease).outcome, 0)
        self.assertLessEqual(len(client.list()), 2)


class Placement(QuotaTest):
    def anywhere(self, *arguments):
        """The node that took it, and what the rest of it says; the lease ends at once."""
        node, lease, *_ = self.leasectl("alloc", "--anywhere", "--etcd", self.etcd.urls, *PEER,
                                        "--hold-ms", 1, *arguments)
        return node["node"], lease

    def nobody(self, *arguments):
        done = subprocess.run([LEASECTL, "alloc", "--anywhere", "--etcd", self.etcd.urls, *PEER,
                               "--hold-ms", "1", *map(str, arguments)], capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def racks(self, *more):
        nodes = [self.node(f"node-{i}", more=f'labels = ["rack=r{i}", "zone=z"]\n{each}')
                 for i, each in enumerate(more)]
        for each in nodes:
            each.wait_until_joined()
            wait_for(lambda name=each.name: self.etcd.get(f"/portcullis/offers/{name}"),
                     "it offers nothing")
        return nodes

    def test_lease_is_of_the_node_with_the_label(self):
        self.racks("", "", "")

        self.assertEqual(self.anywhere("--label", "rack=r1")[0], "node-1")
        self.assertEqual(self.anywhere("--label", "zone=z", "--label", "rack=r2")[0], "node-2")

    def test_preferred_label_is_no_condition(self):
        self.racks("", "")

        self.assertEqual(self.anywhere("--prefer", "rack=r1")[0], "node-1")
        self.assertIn(self.anywhere("--prefer", "rack=elsewhere")[0], ("node-0", "node-1"))

    def test_node_with_more_memory_comes_first(self):
        self.racks("memory_bytes = 1048576\n", "memory_bytes = 1073741824\n")

        self.assertEqual(self.anywhere()[0], "node-1")

    def test_node_that_refuses_is_passed_over(self):
        nodes = self.racks("", "[limits]\ntenant_leases = 1\n")
        self.client(nodes[1]).alloc(ttl_ms=3_600_000)

        self.assertEqual(self.anywhere("--prefer", "rack=r1")[0], "node-0")

    def test_node_that_does_not_answer_is_passed_over(self):
        nodes = self.racks("", "")
        nodes[1].process.send_signal(signal.SIGSTOP)

        self.assertEqual(self.anywhere("--prefer", "rack=r1")[0], "node-0")

    def test_where_nobody_takes_it_each_node_says_why(self):
        nodes = self.racks("memory_bytes = 4096\n", "[limits]\ntenant_leases = 1\n", "")
        self.client(nodes[1]).alloc(ttl_ms=3_600_000)
        nodes[2].end(signal.SIGKILL)
        wait_for(lambda: self.etcd.get("/portcullis/sessions/node-2") is None, "session stays")
        # A busy etcd may let a session end, which comes back.
        wait_for(lambda: "node-1: limit" in self.nobody(), "node-1 has no session")
        said = self.nobody()

        self.assertIn("no node takes it: ", said)
        self.assertIn("node-0: it gives 4096 bytes to leases in all", said)
        self.assertIn("node-1: limit: 1 leases of the tenant", said)
        self.assertIn("node-2: it has no session with etcd", said)
        self.assertIn("it has no label rack=r9", self.nobody("--label", "rack=r9"))

    def test_node_of_another_host_is_asked_over_quic(self):
        pki = self.folder / "pki"
        for words in (["init", pki], ["issue", pki, pki / "server", "--server", "127.0.0.1"],
                      ["issue", pki, pki / "alice", "--client", f"{TENANT}:client"]):
            subprocess.run([LEASECTL, "pki", *words], check=True, capture_output=True,
                           timeout=DEADLINE_S)
        self.racks(f'[quic]\nlisten = "127.0.0.1:0"\nauthority = "{pki}/ca.pem"\n'
                   f'certificate = "{pki}/server.pem"\nkey = "{pki}/server.key"\n')
        node, *_ = self.leasectl("alloc", "--anywhere", "--etcd", self.etcd.urls, *PEER,
                                 "--hold-ms", 1, "--authority", pki / "ca.pem", "--certificate",
                                 pki / "alice.pem", "--key", pki / "alice.key")

        self.assertRegex(node["at"], "^127.0.0.1:[0-9]+$")

    def test_without_a_node_it_says_so(self):
        self.assertIn("no node has joined the fleet", self.nobody())

    def test_node_gives_no_more_memory_than_it_has(self):
        client = self.client(self.racks(f"memory_bytes = {2 * PAGE}\n")[0])
        client.alloc(size=PAGE)
        client.alloc(size=PAGE)

        self.assertIn("no more memory", refusal_of(client))

    def test_another_server_at_that_socket_is_not_taken_for_the_node(self):
        node = self.racks("")[0]
        value = json.loads(self.etcd.get("/portcullis/sessions/node-0"))
        value["incarnation"] = "1"
        self.etcd.put("/portcullis/sessions/node-0", json.dumps(value))

        self.assertIn(f"node-0: another server answers at {node.socket}", self.nobody())

    def test_library_finds_a_node_and_keeps_the_lease(self):
        self.racks("", "")
        client, lease = portcullis_client.alloc_anywhere(
            portcullis_client.Etcd(self.etcd.urls), "fe80::99", "02:00:00:00:00:09", 0x11,
            labels=["rack=r1"], library=LIBRARY)
        with client:
            self.assertTrue(lease.is_open)
            self.assertEqual(len(self.client(self.nodes[1]).list()), 1)
            self.assertEqual(client.release(lease).outcome, portcullis_client.TORN_DOWN)

    def test_library_says_why_no_node_takes_it(self):
        self.racks("")
        with self.assertRaises(portcullis_client.Error) as caught:
            portcullis_client.alloc_anywhere(
                portcullis_client.Etcd(self.etcd.urls), "fe80::99", "02:00:00:00:00:09", 0x11,
                labels=["rack=r9"], library=LIBRARY)

        self.assertIn("node-0: it has no label rack=r9", str(caught.exception))


class Mistakes(fleet_test.Mistakes):
    def setUp(self):
        fleet_test.LEASED, fleet_test.LEASECTL = LEASED, LEASECTL

    def test_quota_names_what_is_wrong(self):
        etcd = ["--etcd", "http://127.0.0.1:1"]
        self.check(LEASECTL, ["quota"], "--etcd")
        self.check(LEASECTL, ["quota", "7", "--etcd", "x"], "URLs such as")
        self.check(LEASECTL, ["quota", "7", *etcd], "http://127.0.0.1:1: ")
        self.check(LEASECTL, ["quota", "--leases", "5", *etcd], "a tenant's number is accepted")
        for wrong in ("18446744073709551616", "-1", "many", "1.5"):
            self.check(LEASECTL, ["quota", "7", "--bytes", wrong, *etcd], "--bytes")
        self.check(LEASECTL, ["quota", "7", "--etcd-user", "a", *etcd], "user without a password")

    def test_alloc_names_what_is_wrong(self):
        etcd = ["--etcd", "http://127.0.0.1:1"]
        self.check(LEASECTL, ["alloc", "--anywhere", *PEER], "--etcd")
        self.check(LEASECTL, ["alloc", *etcd, *PEER], "--anywhere")
        self.check(LEASECTL, ["alloc", "--label", "a=b", *PEER], "--anywhere")
        self.check(LEASECTL, ["alloc", "--anywhere", *etcd, "--label", "a", *PEER], "KEY=VALUE")
        self.check(LEASECTL, ["alloc", "--anywhere", *etcd, *PEER], "http://127.0.0.1:1: ")
        self.check(LEASECTL, ["--socket", "/s", "alloc", "--anywhere", *etcd, *PEER], "one of them")
        self.check(LEASECTL, ["--key", "k", "alloc", "--anywhere", *etcd, *PEER], "together")
        self.check(LEASECTL, ["--key", "k", "list"], "--server is needed")


if __name__ == "__main__":
    LEASED, LEASECTL = sys.argv[1:3]
    LIBRARY = sys.argv[4]
    sys.path.insert(0, sys.argv[5])
    import portcullis_client
    fleet_test.unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
