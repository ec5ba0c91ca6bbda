# SPDX-License-Identifier: BSD-3-Clause
"""A client of the lease protocol, written from docs/wire.md alone: it shares no code with wire/."""

import collections
import socket
import struct
import time

HELLO, ALLOC, RENEW, LIST, WATCH, STATUS = 0x0201, 0x0202, 0x0203, 0x0204, 0x0205, 0x0206
HISTORY, CHALLENGE, REVOKE, REVOKE_TENANT = 0x0207, 0x0208, 0x020A, 0x020B
REFUSED, ANSWER = 0x8000, 0x8000
REVOKED, EXPIRED, RESTARTED = 0x4201, 0x4202, 0x4203
TORN_DOWN, FENCED, NOT_FOUND = 0, 1, 2
EVERY_TENANT = 2**64 - 1
BUSY = 9  # a code of REFUSED, of docs/wire.md
GID = bytes.fromhex("fe80" + "00" * 6 + "0250" + "43ff" + "fe00" + "0099")
MAC = bytes([2, 0, 0, 0, 0, 9])

HelloAnswer = collections.namedtuple(
    "HelloAnswer", "incarnation tenant most_bytes default_ttl_ms most_ttl_ms orphan_ms most_leases "
    "role")
Lease = collections.namedtuple(
    "Lease", "id epoch address bytes ttl_ms gid mac mtu qpn psn rkey ack_timeout retry_count "
    "access")
Challenge = collections.namedtuple("Challenge", "nonce left_ms challenge")
NONE, OPEN, MET = 0, 1, 2  # of a challenge
Outcome = collections.namedtuple("Outcome", "id epoch revoke_us failed_mask outcome memory cause")
Row = collections.namedtuple(
    "Row", "id epoch tenant bytes age_ms left_ms failed_mask state outcome memory cause")
Status = collections.namedtuple(
    "Status", "incarnation uptime_ms granted torn_down fenced longest_revoke_us slots held resting "
    "out connections flags device")
Ended = collections.namedtuple(
    "Ended", "op id epoch tenant unix_ms failed_mask outcome memory cause")
Restarted = collections.namedtuple("Restarted", "op incarnation known_incarnation")


class Refused(Exception):
    def __init__(self, code, op, text):
        super().__init__(f"{code}: {text}")
        self.code, self.op, self.text = code, op, text


class HungUp(Exception):
    pass


def frame(op, request_id, body=b"", version=1):
    return struct.pack("<IHHQ", 16 + len(body), op, version, request_id) + body


class Client:
    """One connection. Notices are kept in `news`, oldest first."""

    def __init__(self, path, known_incarnation=0, deadline_s=60, greet=True):
        self.deadline_s = deadline_s
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise
        self.news = collections.deque()
        self.order = []  # ops in the order in which they came
        self.next_id = 1
        if greet:
            body = self.ask(HELLO, struct.pack("<Q32s", known_incarnation, b"a python client"))
            self.server = HelloAnswer(*struct.unpack("<6QIB3x", body))

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, op, body=b""):
        request_id = self.next_id
        self.next_id += 1
        self.socket.send(frame(op, request_id, body))
        return request_id

    def receive(self, until):
        """(op, request_id, body), or None when it is too late."""
        self.socket.settimeout(max(until - time.monotonic(), 0.001))
        try:
            data = self.socket.recv(65536)
        except (TimeoutError, BlockingIOError):
            return None
        except ConnectionResetError as error:
            raise HungUp() from error
        if not data:
            raise HungUp()
        length, op, version, request_id = struct.unpack_from("<IHHQ", data)
        assert length == len(data) and version == 1, data
        self.order.append(op)
        return op, request_id, data[16:]

    def keep(self, op, body):
        if op == RESTARTED:
            self.news.append(Restarted(op, *struct.unpack("<QQ", body)))
        else:
            assert op in (REVOKED, EXPIRED), hex(op)
            self.news.append(Ended(op, *struct.unpack("<4QI3Bx", body)))

    def answer(self, request_id, op):
        until = time.monotonic() + self.deadline_s
        while (got := self.receive(until)) is not None:
            came, came_id, body = got
            if came == REFUSED and came_id in (request_id, 0):
                code, of, text = struct.unpack("<HH124s", body)
                raise Refused(code, of, text.rstrip(b"\0").decode())
            if came_id == request_id:
                assert came == op | ANSWER, hex(came)
                return body
            if came_id == 0:
                self.keep(came, body)
        raise TimeoutError(hex(op))

    def ask(self, op, body=b""):
        return self.answer(self.send(op, body), op)

    @staticmethod
    def alloc_body(size=4096, ttl_ms=0, access=3, qpn=0x11, gid=GID, mtu=1024, psn=0,
                   ack_timeout=14):
        return struct.pack("<QQ16s6sHIIBBB5x", size, ttl_ms, gid, MAC, mtu, qpn, psn, access,
                           ack_timeout, 6)

    def alloc(self, **wanted):
        """Asked again where the server says that it is busy: a disk that others keep busy may take
        a lease's whole time to record it."""
        until = time.monotonic() + self.deadline_s
        while True:
            try:
                return Lease(*struct.unpack("<5Q16s6sHIIIBBBx",
                                            self.ask(ALLOC, self.alloc_body(**wanted))))
            except Refused as refused:
                if refused.code != BUSY or time.monotonic() > until:
                    raise

    def renew(self, lease, ttl_ms=0):
        body = self.ask(RENEW, struct.pack("<QQQ", lease.id, lease.epoch, ttl_ms))
        return struct.unpack("<Q", body)[0]

    def challenge(self, lease):
        body = self.ask(CHALLENGE, struct.pack("<QQ", lease.id, lease.epoch))
        return Challenge(*struct.unpack("<8sQB7x", body))

    def revoke(self, lease, plan=0):
        body = self.ask(REVOKE, struct.pack("<QQB7x", lease.id, lease.epoch, plan))
        return Outcome(*struct.unpack("<QQQI3Bx", body))

    def revoke_tenant(self, tenant):
        return struct.unpack("<QII", self.ask(REVOKE_TENANT, struct.pack("<Q", tenant)))

    def watch(self, tenant=EVERY_TENANT):
        self.ask(WATCH, struct.pack("<Q", tenant))

    def status(self):
        return Status(*struct.unpack("<6Q6I96s", self.ask(STATUS, bytes(8))))

    def list(self, tenant=EVERY_TENANT):
        rows, cursor = [], 0
        while True:
            body = self.ask(LIST, struct.pack("<QQ", tenant, cursor))
            cursor, count = struct.unpack_from("<QI4x", body)
            rows += [Row(*struct.unpack_from("<6QI4B", body, 16 + 56 * i)) for i in range(count)]
            if cursor == 0:
                return rows

    def next_news(self, wait_s=60):
        until = time.monotonic() + wait_s
        while not self.news:
            got = self.receive(until)
            if got is None:
                raise TimeoutError("no notice came")
            if got[1] == 0:
                self.keep(got[0], got[2])
        return self.news.popleft()
