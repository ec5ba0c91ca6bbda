# SPDX-License-Identifier: BSD-3-Clause
"""Ways between programs of this host that can be cut, for tests: proxies of TCP, so that no right
is needed that a network of the kernel's own would take."""

import collections
import os
import pathlib
import socket
import threading
import time

CONNECT_S = 5


class Network:
    """Who hears whom, by name. A way that is held carries nothing and loses nothing: as with TCP,
    what is under way comes late. A slow one takes its time with each piece."""

    def __init__(self):
        self.changed = threading.Condition()
        self.held = collections.Counter()  # of (from, to), how often
        self.delays = {}

    def hold(self, ways):
        with self.changed:
            self.held.update(ways)

    def release(self, ways):
        with self.changed:
            self.held -= collections.Counter(ways)
            self.changed.notify_all()

    def slow(self, ways, seconds):
        with self.changed:
            self.delays |= {way: seconds for way in ways}

    def hasten(self, ways):
        with self.changed:
            self.delays = {way: each for way, each in self.delays.items() if way not in ways}

    def mend(self):
        with self.changed:
            self.held.clear()
            self.delays.clear()
            self.changed.notify_all()

    def pass_on(self, way, pair):
        """Returns when the next piece may go that way, or nobody waits for it."""
        time.sleep(self.delays.get(way, 0))
        with self.changed:
            self.changed.wait_for(lambda: self.held[way] == 0 or pair.is_shut)

    def wake(self):
        with self.changed:
            self.changed.notify_all()


def both(one, others):
    """Every way between one and the others."""
    return [way for other in others for way in ((one, other), (other, one))]


class Proxy:
    """A way to `url` that can be cut, and then whoever is connected is told; in a `network` it is
    one from `source` to `target`, which can be held as well."""

    def __init__(self, url, network=None, source="", target=""):
        self.address = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        self.network, self.source, self.target = network or Network(), source, target
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.lock = threading.Lock()
        self.is_cut = False
        self.pairs = []  # that have not ended
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        with self.lock:
            self.is_cut = True
            pairs = list(self.pairs)
        for each in pairs:
            each.shut()
        self.network.wake()

    def heal(self):
        with self.lock:
            self.is_cut = False

    def close(self):
        self.cut()
        shut(self.listener)
        self.listener.close()

    def source_of(self, _port):
        """Who has connected, from that port."""
        return self.source

    def _accept(self):
        while True:
            try:
                here, (_, port) = self.listener.accept()
            except OSError:
                return
            source = self.source_of(port)
            with self.lock:
                if self.is_cut or source is None:
                    here.close()
                    continue
                try:
                    there = socket.create_connection(self.address, timeout=CONNECT_S)
                except OSError:
                    here.close()
                    continue
                there.settimeout(None)
                pair = Pair(here, there)
                self.pairs.append(pair)
            for way, read, write in (((source, self.target), here, there),
                                     ((self.target, source), there, here)):
                threading.Thread(target=self._pump, args=(pair, way, read, write),
                                 daemon=True).start()

    def _pump(self, pair, way, source, sink):
        try:
            while data := source.recv(65536):
                self.network.pass_on(way, pair)
                sink.sendall(data)
        except OSError:
            pass
        pair.shut()
        self.network.wake()
        with self.lock:
            pair.pumps -= 1
            if pair.pumps == 0:  # nobody is in the middle of a call on them
                self.pairs.remove(pair)
                pair.here.close()
                pair.there.close()


class PeerProxy(Proxy):
    """To one member of a cluster, for the others: who has connected is seen by whose process the
    socket is. `pid_of` says each member's, by its name."""

    def __init__(self, url, network, target, pid_of):
        self.pid_of = pid_of
        super().__init__(url, network, target=target)

    def source_of(self, port):
        inode = inode_of(port)
        holders = (name for name, pid in self.pid_of().items() if inode and has_socket(pid, inode))
        return next(holders, None)

    kill = Proxy.close  # as a cluster ends whatever is of it


def inode_of(port):
    """Of this host's socket that is connected from that port; None where it is gone."""
    local = f"0100007F:{port:04X}"
    lines = pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    rows = (line.split() for line in lines)
    return next((row[9] for row in rows if row[1] == local), None)


def has_socket(pid, inode):
    folder = f"/proc/{pid}/fd"
    try:
        return any(links_to(f"{folder}/{each}", f"socket:[{inode}]") for each in os.listdir(folder))
    except OSError:  # the process has just ended
        return False


def links_to(path, what):
    try:
        return os.readlink(path) == what
    except OSError:  # closed meanwhile
        return False


class Pair:
    """A connection over a proxy: what came here, and what it goes on as."""

    def __init__(self, here, there):
        self.here, self.there = here, there
        self.pumps = 2
        self.is_shut = False

    def shut(self):
        self.is_shut = True
        shut(self.here)
        shut(self.there)


def shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the other side was first
