# SPDX-License-Identifier: BSD-3-Clause
"""What an etcd on this host can do of what a fleet asks: transactions that write, keepalives,
reads, events to many watches, and how its store grows. By the gateway, as nodes ask it, from
processes of their own; etcd's own processor time says what it takes where the host has much to do.

    etcd_limits.py [--members 1|3] [--seconds N] [--clients N] [--watches N]
"""

import argparse
import base64
import http.client
import json
import multiprocessing
import os
import pathlib
import resource
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
VALUE = base64.b64encode(b"x" * 90).decode()  # an outcome has about so much


def coded(text):
    return base64.b64encode(text.encode()).decode()


def put(key):
    return {"request_put": {"key": coded(key), "value": VALUE}}


def transaction(client, count):
    """As a node writes an outcome: held to a key, 64 of them in turn."""
    key = f"/limits/{client}/{count % 64}"
    held = {"key": coded("/limits/none"), "target": "MOD", "result": "EQUAL", "mod_revision": "0"}
    return "/v3/kv/txn", {"compare": [held], "success": [put(key)]}


def many(client, count):
    """64 writes in one, as a backlog of outcomes is written."""
    keys = [f"/limits/{client}/{count % 16}/{i}" for i in range(64)]
    return "/v3/kv/txn", {"success": [put(key) for key in keys]}


def read(_client, _count):
    """One key, linearizably."""
    return "/v3/kv/range", {"key": coded("/limits/0/0")}


class Connection:
    def __init__(self, port):
        self.held = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, path, body):
        self.held.request("POST", path, json.dumps(body))
        answer = self.held.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return json.loads(text)


def keepalives(port, client, until, done):
    connection = Connection(port)
    lease = connection.ask("/v3/lease/grant", {"TTL": "600"})["ID"]
    work(connection, lambda _client, _count: ("/v3/lease/keepalive", {"ID": lease}), client, until,
         done)


def requests(port, client, until, done, what):
    work(Connection(port), what, client, until, done)


def work(connection, what, client, until, done):
    """One at least: on a busy machine the first answer may come late."""
    count = 0
    while count == 0 or time.monotonic() < until:
        connection.ask(*what(client, count))
        count += 1
    done.put(count)


def processor_s(etcd):
    ticks = 0
    for member in etcd.members:
        with open(f"/proc/{member.process.pid}/stat", encoding="ascii") as stat:
            ticks += sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(etcd, options, name, target, *more):
    ports = [int(each.url.rsplit(":", 1)[1]) for each in etcd.members]
    done = multiprocessing.Queue()
    began, took_s = time.monotonic(), processor_s(etcd)
    clients = [multiprocessing.Process(
        target=target, args=(ports[i % len(ports)], i, began + options.seconds, done, *more))
        for i in range(options.clients)]
    for each in clients:
        each.start()
    count = sum(done.get(timeout=options.seconds + 120) for _ in clients)
    for each in clients:
        each.join(60)
    took_s = processor_s(etcd) - took_s
    rate = count / (time.monotonic() - began)
    print(f"  {name:<34}{rate:>8.0f}/s, {1e6 * took_s / count:>6.0f} us of etcd's processors each",
          flush=True)


def watch(port, watches, streams, done, ready):
    """So many on so many connections: when the last one has its event. Of a body beyond 512 bytes
    the gateway may pass over what it has not read when it answers the first."""
    held = []
    for _ in range(streams):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        create = {"create_request": {"key": coded("/limits/watched"), "start_revision": "0"}}
        connection.request("POST", "/v3/watch",
                           "\n".join([json.dumps(create)] * (watches // streams)))
        answer = connection.getresponse()
        created = 0
        while created < watches // streams:
            created += "created" in json.loads(answer.readline())["result"]
        held.append((connection, answer))
    ready.set()
    for _, answer in held:
        seen = 0
        while seen < watches // streams:
            seen += len(json.loads(answer.readline())["result"].get("events", []))
    done.put(time.monotonic())


def measure_watches(etcd, options):
    port = int(etcd.members[0].url.rsplit(":", 1)[1])
    done, ready = multiprocessing.Queue(), multiprocessing.Event()
    streams = options.watches // 2  # as nodes have them
    watcher = multiprocessing.Process(target=watch,
                                      args=(port, options.watches, streams, done, ready))
    watcher.start()
    assert ready.wait(300)
    took_s, began = processor_s(etcd), time.monotonic()
    etcd.put("/limits/watched", "x")
    after = done.get(timeout=300) - began
    watcher.join(60)
    print(f"  an event to {options.watches} watches on {streams} connections: "
          f"{after * 1000:.0f} ms, {processor_s(etcd) - took_s:.2f} s of etcd's processors",
          flush=True)


def status(etcd):
    connection = Connection(int(etcd.members[0].url.rsplit(":", 1)[1]))
    return int(connection.ask("/v3/maintenance/status", {})["dbSize"])


def measure_growth(etcd):
    writes = 64 * 400
    before = status(etcd)
    connection = Connection(int(etcd.members[0].url.rsplit(":", 1)[1]))
    for count in range(writes // 64):
        connection.ask(*many(0, count))
    after = status(etcd)
    etcd.compact()
    connection.ask("/v3/maintenance/defragment", {})
    each = (after - before) / writes
    print(f"  the store grows by {each:.0f} bytes a write until it is compacted: 2 GiB, etcd's "
          f"limit unless told, are {2 ** 31 / each / 1e6:.1f} million writes; compacted and "
          f"defragmented it has {status(etcd) / 1024:.0f} KiB again", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=1, choices=(1, 3))
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--watches", type=int, default=2000)
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    from etcd_cluster import Cluster
    with tempfile.TemporaryDirectory() as folder:
        etcd = Cluster(pathlib.Path(folder) / "etcd", options.members).start()
        try:
            print(f"{options.members} members, {options.clients} clients, {options.seconds} s each")
            measure(etcd, options, "transactions that write one key", requests, transaction)
            measure(etcd, options, "transactions that write 64", requests, many)
            measure(etcd, options, "linearizable reads of a key", requests, read)
            measure(etcd, options, "keepalives", keepalives)
            measure_watches(etcd, options)
            measure_growth(etcd)
        finally:
            etcd.kill()


if __name__ == "__main__":
    main()
