# SPDX-License-Identifier: BSD-3-Clause
"""How long `leasectl revoke-tenant --everywhere` takes on some nodes with some leases each, and
what of that is the nodes' own fence, etcd's round trips and leasectl's start: p50 of each, of one
run, every node and etcd on this host.

    fence_times.py LEASED LEASECTL FOLDER_OF_LEASE_SERVER [--nodes N] [--leases N] [--rounds N]
"""

import argparse
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
TENANT = os.getuid()
CONFIG = """
[device]
slots = 2048
grace_ms = 100
[limits]
tenant_leases = 2048
default_ttl_ms = 3600000
"""


def ms(values):
    return statistics.median(values) * 1000


class Run:
    def __init__(self, options, etcd, nodes):
        self.options, self.etcd, self.nodes = options, etcd, nodes
        self.clients = [each.client() for each in nodes]

    def fill(self):
        for client in self.clients:
            for _ in range(self.options.leases):
                client.alloc(ack_timeout=1)

    def everywhere(self):
        began = time.monotonic()
        done = subprocess.run([self.options.leasectl, "--json", "revoke-tenant", str(TENANT),
                               "--everywhere", "--etcd", self.etcd.urls, "--most-ms", "60000"],
                              capture_output=True, text=True, timeout=120, check=True)
        took = time.monotonic() - began
        *answers, whole = map(json.loads, done.stdout.splitlines())
        assert whole["torn_down"] == len(self.nodes), done.stdout
        return took, sum(each["torn_down"] for each in answers)

    def start(self):
        """Of leasectl, which asks nobody."""
        began = time.monotonic()
        subprocess.run([self.options.leasectl, "--version"], capture_output=True, timeout=120,
                       check=True)
        return time.monotonic() - began

    def by_each_node(self):
        """The slowest of all nodes that fence the tenant by themselves, at once."""
        took = []

        def revoke(client):
            began = time.monotonic()
            client.revoke_tenant(TENANT)
            took.append(time.monotonic() - began)

        threads = [threading.Thread(target=revoke, args=[each]) for each in self.clients]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return max(took)

    def round_trip(self):
        """Of one transaction that writes, over a connection that stays."""
        host = self.etcd.members[0].url.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=10)
        body = json.dumps({"success": [{"request_put": {"key": "L2E=", "value": "eA=="}}]})
        took = []
        for _ in range(self.options.rounds):
            began = time.monotonic()
            connection.request("POST", "/v3/kv/txn", body)
            connection.getresponse().read()
            took.append(time.monotonic() - began)
        connection.close()
        return took

    def measure(self):
        start, empty, full, own = [], [], [], []
        for _ in range(self.options.rounds):
            start.append(self.start())
            empty.append(self.everywhere()[0])
            self.fill()
            took, ended = self.everywhere()
            assert ended == self.options.leases * len(self.nodes), ended
            full.append(took)
            self.fill()
            own.append(self.by_each_node())
        return start, empty, full, own, self.round_trip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("leased", "leasectl", "servers"):
        parser.add_argument(name)
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--leases", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    sys.path.insert(0, options.servers)
    from etcd_cluster import Cluster
    from fleet_node import Node
    with tempfile.TemporaryDirectory() as held:
        folder = pathlib.Path(held)
        etcd, nodes = Cluster(folder / "etcd").start(), []
        try:
            for i in range(options.nodes):
                nodes.append(Node(options.leased, folder / f"node-{i}", f"node-{i}", etcd.urls, 10,
                                  more=CONFIG).start())
            for each in nodes:
                each.wait_until_joined()
            start, empty, full, own, trip = Run(options, etcd, nodes).measure()
        finally:
            for each in nodes:
                each.end()
            etcd.kill()
    print(f"{options.nodes} nodes with {options.leases} leases each, {options.rounds} rounds, p50; "
          "model, so no NIC's time")
    print(f"revoke-tenant --everywhere            {ms(full):8.1f} ms")
    print(f"the same with nothing held            {ms(empty):8.1f} ms")
    print(f"the nodes' own fence, the slowest     {ms(own):8.1f} ms")
    print(f"a transaction of etcd that writes     {ms(trip):8.1f} ms")
    print(f"leasectl's own start                  {ms(start):8.1f} ms")
    beyond = ms(full) - ms(own) - ms(start)
    print(f"beyond the slowest fence and the start{beyond:8.1f} ms, {beyond / ms(trip):.1f} "
          "transactions")


if __name__ == "__main__":
    main()
