# SPDX-License-Identifier: BSD-3-Clause
"""A fleet: several leased, each with a model, one etcd of Debian's, and leasectl that fences a
tenant on all of them.

    fleet_test.py LEASED LEASECTL FOLDER_OF_LEASE_SERVER [Fleet.test_..]
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), sys.argv[3]]
from etcd_cluster import Authority, Cluster, SecuredCluster
from fleet_node import DEADLINE_S, Node, wait_for
from lease_client import Refused
from network import Proxy

UNAVAILABLE = "no session with etcd"
TENANT = os.getuid()  # as leased has it without a configuration
SESSION_S = 5


def refusal_of(client):
    """What the next grant is refused by; "" where it is granted. A busy machine may keep a node
    waiting for its share, which says "again later" and nothing of the quota: it is asked again."""
    until = time.monotonic() + 10
    while True:
        try:
            client.alloc()
            return ""
        except Refused as refused:
            if "has not answered for the tenant's share" not in refused.text \
                    or time.monotonic() > until:
                return refused.text


def refusal_of_a_renewal(client, lease):
    """"" where it is renewed."""
    try:
        client.renew(lease)
        return ""
    except Refused as refused:
        return refused.text


class FleetTest(unittest.TestCase):
    members = 1
    arguments = ()  # of every server

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.etcd = self.cluster("etcd", self.members)
        self.nodes = []

    def cluster(self, name, members=1):
        cluster = Cluster(self.folder / name, members)
        self.addCleanup(cluster.kill)
        return cluster.start()

    def node(self, name, urls=None, folder=None, more="", **popen):
        node = Node(LEASED, self.folder / (folder or name), name, urls or self.etcd.urls,
                    SESSION_S, *self.arguments, more=more, **popen)
        self.nodes.append(node)
        self.addCleanup(self.end, node)
        return node.start()

    @staticmethod
    def end(node):
        if node.process is not None:
            node.process.send_signal(signal.SIGCONT)
            node.end(signal.SIGKILL)

    def joined(self, count):
        nodes = [self.node(f"node-{i}") for i in range(count)]
        for each in nodes:
            each.wait_until_joined()
        return nodes

    def client(self, node):
        client = node.client()
        self.addCleanup(client.close)
        return client

    def revoke(self, *arguments, status=0, tenant=TENANT):
        """Each node's answer by its name, and the whole."""
        done = subprocess.run([LEASECTL, "--json", "revoke-tenant", str(tenant), "--everywhere",
                               "--etcd", self.etcd.urls, *arguments], capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        *nodes, whole = map(json.loads, done.stdout.splitlines())
        return {each["node"]: each for each in nodes}, whole


class Fleet(FleetTest):
    """etcd has one member."""

    def test_revoke_everywhere_ends_every_lease_and_the_tenant_may_come_again(self):
        clients = [self.client(each) for each in self.joined(3)]
        for client in clients:
            for _ in range(3):
                client.alloc()
        answers, whole = self.revoke("--most-ms", "60000")

        self.assertEqual({name: each["answer"] for name, each in answers.items()},
                         {f"node-{i}": "TornDown" for i in range(3)})
        self.assertEqual([each["torn_down"] for each in answers.values()], [3, 3, 3])
        self.assertEqual(whole["unreachable"], 0)
        for client in clients:
            self.assertEqual(client.list(), [])
            client.alloc()

    def test_another_tenant_keeps_what_it_has(self):
        client = self.client(self.joined(1)[0])
        client.alloc()
        answers, _ = self.revoke("--most-ms", "60000", tenant=TENANT + 1)

        self.assertEqual(answers["node-0"]["torn_down"], 0)
        self.assertEqual(len(client.list()), 1)

    def test_no_grant_from_before_outlives_the_answer(self):
        nodes = self.joined(2)
        stop = threading.Event()
        granted = {each.name: [] for each in nodes}

        def ask_all_the_time(node):
            with node.client() as client:
                while not stop.is_set():
                    try:
                        granted[node.name].append(client.alloc(ttl_ms=3_600_000).id)
                    except Refused:
                        time.sleep(0.005)

        askers = [threading.Thread(target=ask_all_the_time, args=[each]) for each in nodes]
        for each in askers:
            each.start()
        try:
            for _ in range(8):
                before = {name: set(ids) for name, ids in granted.items()}
                self.revoke("--most-ms", "60000")
                for node in nodes:
                    left = {row.id for row in self.client(node).list()}
                    self.assertEqual(left & before[node.name], set())
        finally:
            stop.set()
            for each in askers:
                each.join(DEADLINE_S)
        self.assertGreater(min(len(each) for each in granted.values()), 0)

    def test_stopped_node_is_unreachable_until_it_has_fenced(self):
        nodes = self.joined(2)
        client = self.client(nodes[1])
        client.alloc()
        nodes[1].process.send_signal(signal.SIGSTOP)
        answers, whole = self.revoke("--most-ms", "1500", status=5)

        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        self.assertEqual(answers["node-1"]["answer"], "Unreachable")
        self.assertEqual(whole["unreachable"], 1)
        nodes[1].process.send_signal(signal.SIGCONT)
        answers, _ = self.revoke("--wait")
        self.assertEqual(answers["node-1"]["answer"], "TornDown")
        self.assertEqual(client.list(), [])

    def test_killed_node_is_unreachable_until_it_is_back(self):
        node = self.joined(1)[0]
        self.client(node).alloc()
        node.end(signal.SIGKILL)
        wait_for(lambda: self.etcd.get("/portcullis/sessions/node-0") is None, "session stays")
        answers, _ = self.revoke(status=5)
        self.assertEqual(answers["node-0"]["answer"], "Unreachable")
        self.assertFalse(answers["node-0"]["has_session"])
        node.start()
        answers, _ = self.revoke("--wait")

        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        node.wait_until_joined(2)
        self.assertIn("with the fence epochs of 1 tenants", node.log_text())

    def test_node_that_comes_back_grants_nothing_before_it_has_joined(self):
        node = self.joined(1)[0]
        node.end(signal.SIGKILL)
        self.revoke("--most-ms", "0", status=5)
        self.etcd.kill()
        node.start()
        client = self.client(node)
        self.assertIn(UNAVAILABLE, refusal_of(client))
        self.etcd.start()
        wait_for(lambda: refusal_of(client) == "", "nothing is granted")

        self.assertIn("with the fence epochs of 1 tenants", node.log_text())
        wait_for(lambda: self.etcd.get(f"/portcullis/outcomes/{TENANT}/node-0"), "no outcome")

    def test_node_that_has_ended_holds_nothing(self):
        node = self.joined(1)[0]
        self.client(node).alloc()
        self.assertEqual(node.end(), 0)
        answers, _ = self.revoke()

        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        self.assertEqual(answers["node-0"]["remark"], "it had ended, with nothing held")

    def test_without_etcd_nothing_is_granted_and_revokes_go_on(self):
        node = self.joined(1)[0]
        client = self.client(node)
        lease = client.alloc(ttl_ms=3_600_000)
        self.etcd.kill()
        wait_for(lambda: UNAVAILABLE in refusal_of(client), "grants go on")

        self.assertEqual(client.revoke(lease).outcome, 0)
        node.wait_for_log("no session with etcd")
        self.etcd.start()
        node.wait_until_joined(2)
        wait_for(lambda: refusal_of(client) == "", "nothing is granted again")
        self.assertEqual(node.log_text().count("no session with etcd, nothing is granted"), 1)

    def test_etcd_that_comes_later_is_found(self):
        self.etcd.kill()
        node = self.node("node-0")
        client = self.client(node)
        self.assertIn(UNAVAILABLE, refusal_of(client))
        self.etcd.start()
        node.wait_until_joined()

        wait_for(lambda: refusal_of(client) == "", "nothing is granted")

    def test_second_node_of_a_name_is_granted_nothing(self):
        first = self.joined(1)[0]
        second = self.node("node-0", folder="another")
        second.wait_for_log("node node-0 is another node's name")

        self.assertIn(UNAVAILABLE, refusal_of(self.client(second)))
        self.assertEqual(refusal_of(self.client(first)), "")
        self.assertEqual(second.log_text().count("nothing is granted"), 1)

    def test_etcd_of_another_cluster_is_not_believed(self):
        node = self.joined(1)[0]
        self.assertEqual(node.end(), 0)
        other = self.cluster("other")
        node = self.node("node-0", other.urls)
        node.wait_for_log("it is of cluster")

        self.assertIn(UNAVAILABLE, refusal_of(self.client(node)))
        self.assertIsNone(other.get("/portcullis/members/node-0"))

    def test_names_that_others_write_into_etcd_are_one_line(self):
        self.etcd.put("/portcullis/members/a\nb\x1b[31m", "x")
        done = subprocess.run([LEASECTL, "revoke-tenant", str(TENANT), "--everywhere", "--etcd",
                               self.etcd.urls], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 3, done.stdout)
        self.assertNotIn("\x1b", done.stdout)

    def test_endpoint_that_does_not_answer_is_named(self):
        self.joined(1)
        done = subprocess.run([LEASECTL, "revoke-tenant", str(TENANT), "--everywhere", "--etcd",
                               self.etcd.urls + ",http://127.0.0.1:1"], capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("does not answer: etcd http://127.0.0.1:1"), 1,
                         done.stderr)

    def test_endpoints_of_two_clusters_make_nothing_certain(self):
        self.joined(1)
        other = self.cluster("other")
        for urls in (f"{self.etcd.urls},{other.urls}", f"{other.urls},{self.etcd.urls}"):
            done = subprocess.run([LEASECTL, "revoke-tenant", str(TENANT), "--everywhere",
                                   "--etcd", urls], capture_output=True, text=True,
                                  timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
            self.assertIn("endpoints of one cluster are accepted", done.stderr)
            self.assertIn("not certain", done.stdout)

    def test_endpoints_of_two_clusters_are_told_to_programs(self):
        self.joined(1)
        other = self.cluster("other")
        done = subprocess.run([LEASECTL, "--json", "revoke-tenant", str(TENANT), "--everywhere",
                               "--etcd", f"{self.etcd.urls},{other.urls}"], capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)
        whole = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((whole["is_certain"], whole["is_one_cluster"]), (False, False))

    def test_quota_at_endpoints_of_two_clusters_is_not_written(self):
        other = self.cluster("other")
        for urls in (f"{self.etcd.urls},{other.urls}", f"{other.urls},{self.etcd.urls}"):
            done = subprocess.run([LEASECTL, "quota", "7", "--leases", "3", "--etcd", urls],
                                  capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
            self.assertIn("nothing was asked or written", done.stderr)
        self.assertIsNone(self.etcd.get("/portcullis/quotas/7"))
        self.assertIsNone(other.get("/portcullis/quotas/7"))

    def test_alloc_anywhere_at_endpoints_of_two_clusters_asks_no_node(self):
        self.joined(1)
        other = self.cluster("other")
        done = subprocess.run([LEASECTL, "alloc", "--anywhere", "--gid", "fe80::99", "--mac",
                               "02:00:00:00:00:09", "--hold-ms", "1", "--etcd",
                               f"{self.etcd.urls},{other.urls}"], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")

    def test_wait_ends_when_it_was_to_and_says_what_is_known(self):
        self.joined(1)[0].end(signal.SIGKILL)
        answers, _ = self.revoke("--wait", "--most-ms", "500", status=5)

        self.assertEqual(answers["node-0"]["answer"], "Unreachable")

    def test_two_signals_at_once_lose_no_row(self):
        self.joined(1)[0].end(signal.SIGKILL)
        asked = subprocess.Popen([LEASECTL, "revoke-tenant", str(TENANT), "--everywhere", "--wait",
                                  "--etcd", self.etcd.urls], stdout=subprocess.PIPE, text=True)
        wait_for(lambda: self.etcd.get(f"/portcullis/epochs/{TENANT}"), "no epoch")
        asked.send_signal(signal.SIGTERM)
        time.sleep(0.005)  # two that wait at once are one
        asked.send_signal(signal.SIGTERM)
        told, _ = asked.communicate(timeout=DEADLINE_S)

        self.assertEqual(asked.returncode, 5)
        self.assertIn("node-0  Unreachable", told)

    def test_epoch_that_was_compacted_while_nobody_watched_is_learnt(self):
        node = self.joined(1)[0]
        client = self.client(node)
        client.alloc()
        node.process.send_signal(signal.SIGSTOP)
        self.revoke("--most-ms", "0", status=5)
        self.etcd.compact()
        wait_for(lambda: self.etcd.get("/portcullis/sessions/node-0") is None, "session stays")
        node.process.send_signal(signal.SIGCONT)

        wait_for(lambda: client.list() == [], "the lease stays")
        node.wait_until_joined(2)

    def test_session_that_somebody_deletes_is_made_anew(self):
        node = self.joined(1)[0]
        self.etcd.delete("/portcullis/sessions/node-0")

        node.wait_until_joined(2)

    def test_node_whose_name_is_taken_away_is_in_the_answer_all_the_same(self):
        node = self.joined(1)[0]
        client = self.client(node)
        client.alloc(ttl_ms=3_600_000)
        node.process.send_signal(signal.SIGSTOP)
        self.etcd.delete("/portcullis/members/node-0")
        answers, _ = self.revoke("--most-ms", "1000", status=5)
        self.assertEqual(answers["node-0"]["answer"], "Unreachable")
        node.process.send_signal(signal.SIGCONT)
        answers, _ = self.revoke("--wait")

        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        self.assertEqual(client.list(), [])
        wait_for(lambda: self.etcd.get("/portcullis/members/node-0"), "the name stays away")

    def test_session_that_somebody_writes_over_is_left(self):
        node = self.joined(1)[0]
        self.etcd.put("/portcullis/sessions/node-0", "garbage")
        node.wait_for_log("somebody else has written /portcullis/sessions/node-0")

        self.assertIn(UNAVAILABLE, refusal_of(self.client(node)))
        self.etcd.delete("/portcullis/sessions/node-0")
        node.wait_until_joined(2)

    def test_without_a_member_nothing_was_fenced(self):
        _, whole = self.revoke(status=4)

        self.assertEqual(whole["nodes"], 0)


class FleetOfMany(FleetTest):
    """Many tenants, and an etcd that takes few operations at once."""

    TENANTS = 100

    def cluster(self, name, members=1):
        cluster = Cluster(self.folder / name, members, more=["--max-txn-ops", "8"])
        self.addCleanup(cluster.kill)
        return cluster.start()

    def outcomes(self):
        return self.etcd.count("/portcullis/outcomes/")

    def test_every_outcome_is_written_though_etcd_takes_few_operations_at_once(self):
        node = self.joined(1)[0]
        node.process.send_signal(signal.SIGSTOP)
        for tenant in range(self.TENANTS):
            self.etcd.put(f"/portcullis/epochs/{TENANT + tenant}", "fence")
        node.process.send_signal(signal.SIGCONT)
        wait_for(lambda: self.outcomes() == self.TENANTS, "outcomes stay unwritten")

    def test_node_that_joins_learns_more_tenants_than_one_request_reads(self):
        tenants = 12_000
        self.etcd.fill("/portcullis/epochs/", range(10_000, 10_000 + tenants))
        self.joined(1)[0].wait_for_log(f"with the fence epochs of {tenants} tenants")


class FleetOfThree(FleetTest):
    """etcd has three members."""

    members = 3

    def test_leader_that_is_killed_costs_no_certainty(self):
        clients = [self.client(each) for each in self.joined(2)]
        for client in clients:
            client.alloc()
        leader = self.etcd.leader()
        leader.kill()
        answers, _ = self.revoke("--wait")

        self.assertEqual([each["answer"] for each in answers.values()], ["TornDown"] * 2)
        self.assertEqual([client.list() for client in clients], [[], []])

    def test_two_members_that_are_killed_leave_nothing_certain(self):
        client = self.client(self.joined(1)[0])
        for each in self.etcd.members[1:]:
            each.kill()
        done = subprocess.run([LEASECTL, "revoke-tenant", str(TENANT), "--everywhere", "--etcd",
                               self.etcd.urls], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)

        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        wait_for(lambda: UNAVAILABLE in refusal_of(client), "grants go on")


class FleetAlone(FleetTest):
    """Nodes that end what they have when they are without etcd for long."""

    ALONE_S = SESSION_S
    STALL_S = 1

    def promising(self, name, urls=None, tenants=""):
        """A node with a watchdog, which is the test."""
        more = f"isolation_s = {self.ALONE_S}\nstall_s = {self.STALL_S}\n{tenants}"
        node = self.node(name, urls, more=more, env=os.environ | {"WATCHDOG_USEC": "1000000"})
        node.wait_until_joined()
        return node

    def proxy(self):
        proxy = Proxy(self.etcd.members[0].url)
        self.addCleanup(proxy.close)
        return proxy

    def test_without_etcd_for_long_every_lease_is_revoked_and_it_joins_again(self):
        node = self.promising("node-0")
        client = self.client(node)
        client.alloc(ttl_ms=3_600_000)
        self.etcd.kill()
        wait_for(lambda: client.list() == [], "the lease stays")

        node.wait_for_log(f"{self.ALONE_S} s without etcd: 1 leases are revoked")
        self.etcd.start()
        node.wait_until_joined(2)
        wait_for(lambda: refusal_of(client) == "", "nothing is granted again")

    def test_tenant_that_did_not_ask_for_it_keeps_its_lease(self):
        node = self.promising("node-0", tenants=f"isolation_tenants = [{TENANT + 1}]\n")
        client = self.client(node)
        lease = client.alloc(ttl_ms=3_600_000)
        self.etcd.kill()
        node.wait_for_log("s without etcd: 0 leases are revoked")

        self.assertEqual([each.id for each in client.list()], [lease.id])

    def test_node_behind_a_cut_is_expired_and_then_holds_nothing(self):
        proxy = self.proxy()
        node = self.promising("node-0", proxy.url)
        client = self.client(node)
        client.alloc(ttl_ms=3_600_000)
        proxy.cut()
        answers, whole = self.revoke("--wait", status=6)

        self.assertEqual(client.list(), [])
        self.assertEqual(answers["node-0"]["answer"], "Expired")
        self.assertEqual((whole["expired"], whole["unreachable"]), (1, 0))
        proxy.heal()
        node.wait_until_joined(2)
        answers, _ = self.revoke("--wait")
        self.assertEqual(answers["node-0"]["answer"], "TornDown")

    def test_killed_node_is_expired(self):
        node = self.promising("node-0")
        self.client(node).alloc()
        node.end(signal.SIGKILL)
        answers, _ = self.revoke("--wait", status=6)

        self.assertEqual(answers["node-0"]["answer"], "Expired")

    def test_node_that_renews_nothing_alone_is_expired_when_every_ttl_is_over(self):
        proxy = self.proxy()
        ttl_ms = 1000 * SESSION_S
        node = self.node("node-0", proxy.url, env=os.environ | {"WATCHDOG_USEC": "1000000"},
                         more=f"renew_alone = false\nstall_s = {self.STALL_S}\n[limits]\n"
                              f"default_ttl_ms = {ttl_ms}\nmost_ttl_ms = {ttl_ms}\n")
        node.wait_until_joined()
        client = self.client(node)
        lease = client.alloc()
        proxy.cut()
        wait_for(lambda: "nothing is renewed" in refusal_of_a_renewal(client, lease),
                 "renewals go on")
        wait_for(lambda: client.list() == [], "the lease stays")
        answers, _ = self.revoke("--wait", status=6)

        self.assertEqual(answers["node-0"]["answer"], "Expired")
        self.assertIn("every lease's TTL is over", answers["node-0"]["remark"])

    def test_node_that_comes_back_answers_for_itself(self):
        node = self.promising("node-0")
        self.client(node).alloc()
        node.end(signal.SIGKILL)
        self.revoke("--most-ms", "0", status=5)
        node.start()
        answers, _ = self.revoke("--wait")

        self.assertEqual(answers["node-0"]["answer"], "TornDown")


class FleetSecured(FleetTest):
    """etcd speaks TLS, asks for certificates, and for users."""

    def cluster(self, name, members=1):
        self.authority = Authority(self.folder / "authority")
        cluster = SecuredCluster(self.folder / name, self.authority)
        self.addCleanup(cluster.kill)
        return cluster.start()

    def secured(self, authority=None, certified_by=None, password="of leased"):
        """A node, and its certificate's files."""
        (self.folder / "password").write_text(password + "\n", encoding="utf-8")
        authority = (authority or self.authority).certificate
        lines = [f'authority = "{authority}"', 'user = "leased"',
                 f'password_file = "{self.folder / "password"}"']
        if certified_by is not None:
            certificate, key = certified_by.issue("node")
            lines += [f'certificate = "{certificate}"', f'key = "{key}"']
        return self.node("node-0", more="\n".join(lines) + "\n")

    def as_operator(self, password="of leased"):
        """Arguments of leasectl."""
        certificate, key = self.authority.issue("operator")
        (self.folder / "operator").write_text(password + "\n", encoding="utf-8")
        return ["--etcd-authority", self.authority.certificate, "--etcd-certificate", certificate,
                "--etcd-key", key, "--etcd-user", "leased", "--etcd-password-file",
                self.folder / "operator"]

    def is_out(self, node, said):
        node.wait_for_log("no session with etcd, nothing is granted")
        self.assertIn(said, node.log_text())
        self.assertIn(UNAVAILABLE, refusal_of(self.client(node)))

    def test_node_with_certificate_and_password_joins_and_fences(self):
        node = self.secured(certified_by=self.authority)
        node.wait_until_joined()
        client = self.client(node)
        client.alloc()
        answers, _ = self.revoke("--most-ms", "60000", *self.as_operator())

        self.assertEqual(answers["node-0"]["answer"], "TornDown")
        self.assertEqual(client.list(), [])

    def test_node_that_etcd_knows_under_another_password_is_out(self):
        self.is_out(self.secured(certified_by=self.authority, password="another"),
                    'user "leased": etcdserver: authentication failed')

    def test_node_without_a_certificate_is_out(self):
        self.is_out(self.secured(), "https://127.0.0.1")

    def test_node_whose_certificate_is_of_another_authority_is_out(self):
        other = Authority(self.folder / "other")
        self.is_out(self.secured(certified_by=other), "https://127.0.0.1")

    def test_etcd_whose_certificate_is_of_another_authority_is_not_believed(self):
        other = Authority(self.folder / "other")
        self.is_out(self.secured(authority=other, certified_by=self.authority), "certificate")

    def test_leasectl_with_another_password_asks_nobody(self):
        done = subprocess.run([LEASECTL, "revoke-tenant", "7", "--everywhere", "--etcd",
                               self.etcd.urls, *self.as_operator("another")], capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)

        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn('user "leased": etcdserver: authentication failed', done.stderr)


class Mistakes(unittest.TestCase):
    def check(self, program, arguments, said):
        done = subprocess.run([program, *arguments], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(said, done.stderr)

    def test_leased_names_what_is_wrong(self):
        self.check(LEASED, ["--etcd", "etcd:2379"], '"etcd:2379": URLs such as')
        self.check(LEASED, ["--node", "a"], "--node a without --etcd")
        self.check(LEASED, ["--etcd", "http://a", "--node", "a/b"], 'node "a/b"')
        self.check(LEASED, ["--etcd", "http://a", "--journal", "none"], "without a journal")

    def test_node_that_may_stand_still_has_a_watchdog(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "leased.toml"
            config.write_text("[etcd]\nendpoints = [\"http://127.0.0.1:1\"]\nisolation_s = 20\n"
                              "stall_s = 5\n", encoding="utf-8")
            self.check(LEASED, ["--config", str(config)], "no watchdog is there")

    def test_leasectl_names_what_is_wrong(self):
        self.check(LEASECTL, ["revoke-tenant", "7", "--everywhere"], "--etcd")
        self.check(LEASECTL, ["revoke-tenant", "7", "--everywhere", "--etcd", "x"], "URLs such as")
        self.check(LEASECTL, ["quota", "7", "--leases", "5", "--no-limit", "--etcd", "http://a"],
                   "--no-limit")
        self.check(LEASECTL, ["revoke-tenant", "7", "--wait"], "--everywhere")

    def test_fence_that_was_sent_to_nobody_was_not_raised(self):
        done = subprocess.run([LEASECTL, "revoke-tenant", "7", "--everywhere", "--etcd",
                               "http://127.0.0.1:1"], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("may have been raised", done.stderr)

    def test_fence_that_was_not_answered_may_have_been_raised(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            self.check(LEASECTL, ["revoke-tenant", "7", "--everywhere", "--etcd",
                                  f"http://127.0.0.1:{port}"], "asking again does no harm")

    def test_number_that_stands_for_every_tenant_is_none(self):
        every, etcd = str(2**64 - 1), ["--etcd", "http://127.0.0.1:1"]
        for asked in (["revoke-tenant", every, "--everywhere"], ["quota", every, "--leases", "1"]):
            self.check(LEASECTL, [*asked, *etcd], "one tenant at a time")

    def test_tenant_that_is_no_number_is_nobody_else(self):
        for tenant in ("-1", "18446744073709551616", "0x10", " 5", "010x", "1e3"):
            self.check(LEASECTL, ["revoke-tenant", tenant, "--everywhere", "--etcd",
                                  "http://127.0.0.1:1"], "a number from 0 to")
            self.check(LEASECTL, ["quota", tenant, "--leases", "1", "--etcd",
                                  "http://127.0.0.1:1"], "a number from 0 to")


if __name__ == "__main__":
    LEASED, LEASECTL = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
