# SPDX-License-Identifier: BSD-3-Clause
"""A real etcd for tests: members on this host, killed and started again as a test likes."""

import base64
import json
import pathlib
import random
import signal
import socket
import ssl
import subprocess
import time
import urllib.request

from network import PeerProxy

DEADLINE_S = 120


def free_ports(count):
    """Numbers that nobody listens on now, below those that the kernel gives to whoever connects: an
    etcd that has ended would find its own taken, by a node that tries to reach it, say."""
    given = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
    first = int(given.split()[0])
    held = []
    while len(held) < count:
        try:
            held.append(socket.create_server(("127.0.0.1", random.randrange(10240, first))))
        except OSError:  # taken
            continue
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


class Authority:
    """Certificates by openssl, of an authority of its own: for servers of this host and clients."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.certificate = self.folder / "ca.pem"
        self._openssl("req", "-x509", *self._key("ca"), "-subj", "/CN=authority", "-days", "2",
                      "-out", self.certificate)

    def issue(self, name):
        """Certificate and key. etcd's gateway is a client of etcd with the server's own."""
        more = self.folder / f"{name}.cnf"
        more.write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n",
                        encoding="utf-8")
        request = self.folder / f"{name}.csr"
        self._openssl("req", *self._key(name), "-subj", f"/O={name}", "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey",
                      self.folder / "ca.key", "-CAcreateserial", "-days", "2", "-extfile", more,
                      "-out", self.folder / f"{name}.pem")
        return self.folder / f"{name}.pem", self.folder / f"{name}.key"

    def _key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                self.folder / f"{name}.key"]

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, timeout=DEADLINE_S,
                       stdin=subprocess.DEVNULL, capture_output=True)


class Member:
    more = ()  # arguments, of a member that speaks TLS, say

    def __init__(self, name, folder, client, peer, advertised, cluster):
        self.name = name
        self.folder = pathlib.Path(folder)
        self.url = f"http://127.0.0.1:{client}"
        self.peer = f"http://127.0.0.1:{peer}"
        self.advertised = advertised  # where others reach it
        self.cluster = cluster
        self.process = None

    def start(self):
        with open(self.folder / f"{self.name}.log", "ab") as log:
            self.process = subprocess.Popen(
                ["etcd", "--name", self.name, "--data-dir", self.folder / self.name,
                 "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
                 "--listen-peer-urls", self.peer, "--initial-advertise-peer-urls", self.advertised,
                 "--initial-cluster", self.cluster, "--initial-cluster-token", self.cluster,
                 "--log-level", "error", *self.more],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(DEADLINE_S)
            self.process = None

    def is_leader(self, deadline_s=10):
        status = ask(self.url, "/v3/maintenance/status", {}, deadline_s=deadline_s)
        return status.get("leader") == status["header"]["member_id"]


class Cluster:
    """With a `network` members reach each other over it alone, each by its name. `more` are
    arguments of each."""

    def __init__(self, folder, members=1, network=None, more=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        ports = free_ports(2 * members)
        names = [f"etcd{i}" for i in range(members)]
        peers = [f"http://127.0.0.1:{ports[2 * i + 1]}" for i in range(members)]
        self.proxies = []
        if network is not None:
            self.proxies = [PeerProxy(url, network, name, self.pid_of)
                            for name, url in zip(names, peers)]
            peers = [each.url for each in self.proxies]
        initial = ",".join(f"{name}={url}" for name, url in zip(names, peers))
        self.members = [Member(name, folder, ports[2 * i], ports[2 * i + 1], peers[i], initial)
                        for i, name in enumerate(names)]
        for each in self.members:
            each.more = more

    def start(self):
        for each in self.members:
            each.start()
        self.wait()
        return self

    def kill(self):
        for each in (*self.members, *self.proxies):
            each.kill()

    def pid_of(self):
        """Of each member that runs, by its name."""
        processes = {each.name: each.process for each in self.members}
        return {name: process.pid for name, process in processes.items() if process is not None}

    @property
    def urls(self):
        return ",".join(each.url for each in self.members)

    def wait(self):
        """Until each of them answers for the whole: a test may turn to any of them first."""
        until = time.monotonic() + DEADLINE_S
        for each in self.members:
            while not self.has_answer(each):
                assert time.monotonic() < until, f"{each.name} of etcd did not start"
                time.sleep(0.05)

    def has_answer(self, member):
        try:
            self.get("/", member.url)
        except OSError:
            return False
        return True

    def leader(self, among=None):
        """Whoever leads; a cluster whose members were held up may be about to elect one. `among`:
        those that are asked, for who is cut off may think that it still does."""
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            for each in self.members if among is None else among:
                if self.leads(each):
                    return each
            time.sleep(0.05)
        raise AssertionError("etcd has no leader")

    @staticmethod
    def leads(member, deadline_s=10):
        try:
            return member.is_leader(deadline_s)
        except OSError:  # it is busy
            return False

    def get(self, key, url=None):
        """Its value, or None."""
        found = ask(url or self.members[0].url, "/v3/kv/range", {"key": coded(key)}).get("kvs")
        return base64.b64decode(found[0].get("value", "")).decode() if found else None

    def put(self, key, value):
        return ask(self.members[0].url, "/v3/kv/put", {"key": coded(key), "value": coded(value)})

    def count(self, prefix):
        """Of the keys that begin so."""
        last = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        body = {"key": coded(prefix), "range_end": coded(last), "count_only": True}
        return int(ask(self.members[0].url, "/v3/kv/range", body).get("count", 0))

    def fill(self, prefix, names, at_once=8):
        """A key for each of the names, some in a transaction."""
        held = [{"request_put": {"key": coded(f"{prefix}{name}"), "value": coded("x")}}
                for name in names]
        for at in range(0, len(held), at_once):
            ask(self.members[0].url, "/v3/kv/txn", {"success": held[at:at + at_once]})

    def delete(self, key):
        ask(self.members[0].url, "/v3/kv/deleterange", {"key": coded(key)})

    def compact(self):
        revision = self.put("/elsewhere", "x")["header"]["revision"]
        ask(self.members[0].url, "/v3/kv/compaction", {"revision": revision, "physical": True})


class SecuredCluster(Cluster):
    """One member that wants a certificate of whoever connects, and a user behind it."""

    def __init__(self, folder, authority):
        super().__init__(folder)
        certificate, key = authority.issue("etcd")
        member = self.members[0]
        member.url = member.url.replace("http:", "https:")
        member.more = ["--cert-file", certificate, "--key-file", key, "--client-cert-auth",
                      "--trusted-ca-file", authority.certificate]
        self.context = ssl.create_default_context(cafile=authority.certificate)
        self.context.load_cert_chain(*authority.issue("test"))

    def start(self):
        super().start()
        for name, role in (("root", "root"), ("leased", "node")):
            self.ask("/v3/auth/user/add", {"name": name, "password": f"of {name}"})
            self.ask("/v3/auth/role/add", {"name": role})
            self.ask("/v3/auth/user/grant", {"user": name, "role": role})
        self.ask("/v3/auth/role/grant", {"name": "node", "perm": {
            "permType": "READWRITE", "key": coded("/portcullis/"),
            "range_end": coded("/portcullis0")}})
        self.ask("/v3/auth/enable", {})
        return self

    def ask(self, path, body):
        return ask(self.members[0].url, path, body, self.context)

    def get(self, key, url=None):
        """Before users count."""
        return self.ask("/v3/kv/range", {"key": coded(key)}).get("kvs")


def coded(text):
    return base64.b64encode(text.encode()).decode()


def ask(url, path, body, context=None, deadline_s=10):
    request = urllib.request.Request(url + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=deadline_s, context=context) as answer:
        return json.load(answer)
