# SPDX-License-Identifier: BSD-3-Clause
"""What fleets of several sizes are to one etcd: `leasectl revoke-tenant --everywhere` on nodes that
hold nothing and answer at once (stub_nodes), the watches that etcd serves, and what it does a
second while nothing happens and while one tenant is fenced after the other. All on this host.

    fleet_sizes.py STUB_NODES LEASECTL FOLDER_OF_LEASE_SERVER [--nodes 5,50,1000] [--rounds N]
                   [--session-s N]
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
IDLE_S = 10
TENANT = 7
# Of etcd's own metrics (3.4): the sum of those that match.
DONE = {"requests": r"grpc_server_handled_total{.*}",
        "transactions": r"grpc_server_handled_total{.*grpc_method=\"Txn\".*}",
        "writes": r"etcd_debugging_mvcc_put_total", "events": r"etcd_debugging_mvcc_events_total",
        "watches": r"etcd_debugging_mvcc_watcher_total"}


def metrics(etcd):
    with urllib.request.urlopen(f"{etcd.members[0].url}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    with open(f"/proc/{etcd.members[0].process.pid}/stat", encoding="ascii") as stat:
        user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
    found = {name: sum(float(value) for value in
                       re.findall(rf"^{metric} ([0-9.e+]+)$", text, re.MULTILINE))
             for name, metric in DONE.items()}
    found["processor"] = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return time.monotonic(), found


def rates(before, after):
    took = after[0] - before[0]
    return {name: (after[1][name] - before[1][name]) / took for name in after[1]}


def fence(options, etcd, nodes):
    began = time.monotonic()
    done = subprocess.run([options.leasectl, "--json", "revoke-tenant", str(TENANT),
                           "--everywhere", "--etcd", etcd.urls, "--wait"],
                          capture_output=True, text=True, timeout=300, check=True)
    took = time.monotonic() - began
    whole = json.loads(done.stdout.splitlines()[-1])
    assert whole["torn_down"] == nodes, whole
    return took


def measure(options, cluster, nodes, folder):
    etcd = cluster(folder / "etcd").start()
    numbers = folder / "numbers"
    numbers.mkdir()
    try:
        began = time.monotonic()
        stubs = subprocess.Popen([options.stubs, etcd.urls, str(nodes), str(options.session_s),
                                  numbers], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True)
        assert stubs.stdout.readline() == f"joined {nodes}\n"
        joined_s = time.monotonic() - began
        fence(options, etcd, nodes)
        before = metrics(etcd)
        time.sleep(IDLE_S)
        idle = rates(before, metrics(etcd))
        before = metrics(etcd)
        took = [fence(options, etcd, nodes) for _ in range(options.rounds)]
        after = metrics(etcd)
        busy = rates(before, after)
        stubs.stdin.close()
        stubs.wait(300)
    finally:
        etcd.kill()
    print(f"{nodes:>6} nodes, session {options.session_s} s: all joined in {joined_s:.1f} s; "
          f"revoke-tenant --everywhere p50 {statistics.median(took) * 1000:.0f} ms, worst "
          f"{max(took) * 1000:.0f} ms of {options.rounds}; {after[1]['watches']:.0f} watches")
    for name, found in (("idle", idle), ("fencing", busy)):
        print(f"       {name:<8}" + ", ".join(f"{found[each]:.0f} {each}/s" for each in
                                              ("requests", "transactions", "writes", "events")) +
              f", etcd takes {found['processor']:.2f} processors", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("stubs", "leasectl", "servers"):
        parser.add_argument(name)
    parser.add_argument("--nodes", default="5,50,1000")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--session-s", type=int, default=10)
    options = parser.parse_args()
    sys.path.insert(0, options.servers)
    from etcd_cluster import Cluster
    for nodes in map(int, options.nodes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            measure(options, Cluster, nodes, pathlib.Path(folder))


if __name__ == "__main__":
    main()
