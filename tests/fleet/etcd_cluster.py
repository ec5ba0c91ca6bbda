# SPDX-License-Identifier: BSD-3-Clause
"""A real etcd for tests: members on this host, killed and started again as a test likes."""

import base64
import json
import pathlib
import signal
import socket
import subprocess
import time
import urllib.request

DEADLINE_S = 120


def free_ports(count):
    """Numbers that nobody listens on now."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


class Member:
    def __init__(self, name, folder, client, peer, cluster):
        self.name = name
        self.folder = pathlib.Path(folder)
        self.url = f"http://127.0.0.1:{client}"
        self.peer = f"http://127.0.0.1:{peer}"
        self.cluster = cluster
        self.process = None

    def start(self):
        with open(self.folder / f"{self.name}.log", "ab") as log:
            self.process = subprocess.Popen(
                ["etcd", "--name", self.name, "--data-dir", self.folder / self.name,
                 "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
                 "--listen-peer-urls", self.peer, "--initial-advertise-peer-urls", self.peer,
                 "--initial-cluster", self.cluster, "--initial-cluster-token", self.cluster,
                 "--log-level", "error"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(DEADLINE_S)
            self.process = None

    def is_leader(self):
        status = ask(self.url, "/v3/maintenance/status", {})
        return status.get("leader") == status["header"]["member_id"]


class Cluster:
    def __init__(self, folder, members=1):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        ports = free_ports(2 * members)
        names = [f"etcd{i}" for i in range(members)]
        initial = ",".join(f"{name}=http://127.0.0.1:{ports[2 * i + 1]}"
                           for i, name in enumerate(names))
        self.members = [Member(name, folder, ports[2 * i], ports[2 * i + 1], initial)
                        for i, name in enumerate(names)]

    def start(self):
        for each in self.members:
            each.start()
        self.wait()
        return self

    def kill(self):
        for each in self.members:
            each.kill()

    @property
    def urls(self):
        return ",".join(each.url for each in self.members)

    def wait(self):
        """Until one of them answers for the whole."""
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            for each in self.members:
                try:
                    self.get("/", each.url)
                    return
                except OSError:
                    time.sleep(0.05)
        raise AssertionError("etcd did not start")

    def get(self, key, url=None):
        """Its value, or None."""
        found = ask(url or self.members[0].url, "/v3/kv/range", {"key": coded(key)}).get("kvs")
        return base64.b64decode(found[0].get("value", "")).decode() if found else None

    def put(self, key, value):
        return ask(self.members[0].url, "/v3/kv/put", {"key": coded(key), "value": coded(value)})

    def delete(self, key):
        ask(self.members[0].url, "/v3/kv/deleterange", {"key": coded(key)})

    def compact(self):
        revision = self.put("/elsewhere", "x")["header"]["revision"]
        ask(self.members[0].url, "/v3/kv/compaction", {"revision": revision, "physical": True})


def coded(text):
    return base64.b64encode(text.encode()).decode()


def ask(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)
