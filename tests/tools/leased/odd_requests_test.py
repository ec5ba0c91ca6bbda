# SPDX-License-Identifier: BSD-3-Clause
"""Sequences that no library makes, against leased over its socket.

    odd_requests_test.py LEASED

The client in here was written from docs/wire.md alone, by itself: it shares no line with
lease_client.py, so that one of the two finds out where the page says too little.
"""

import collections
import os
import pathlib
import signal
import socket
import struct
import sys
import tempfile
import unittest

from lease_server import DEADLINE_S, Server

# ---- The client ------------------------------------------------------------------------------

HELLO, ALLOC, RENEW, LIST, WATCH, STATUS, HISTORY, CHALLENGE = range(0x0201, 0x0209)
REVOKE, REVOKE_TENANT, REFUSED = 0x020A, 0x020B, 0x8000
REVOKED, EXPIRED = 0x4201, 0x4202
MALFORMED, UNKNOWN_OP, UNKNOWN_VERSION, HELLO_FIRST, INVALID, NOT_ALLOWED = range(1, 7)
BUSY, NOT_FOUND = 9, 11
EVERY = (1 << 64) - 1
Frame = collections.namedtuple("Frame", "op id body")
Grant = collections.namedtuple("Grant", "id epoch ttl_ms rkey")


class Peer:
    def __init__(self, path, hello=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(DEADLINE_S)
        self.socket.connect(str(path))
        if hello:
            self.say(HELLO, bytes(40), 1)
            assert self.hear().op == HELLO | 0x8000

    def say(self, op, body, request_id=7, version=1, length=None):
        length = 16 + len(body) if length is None else length
        self.socket.send(struct.pack("<IHHQ", length, op, version, request_id) + body)

    def hear(self):
        """The next frame; None when the server has hung up."""
        try:
            data = self.socket.recv(4097)
        except ConnectionResetError:
            return None
        if not data:
            return None
        length, op, version, request_id = struct.unpack_from("<IHHQ", data)
        assert (length, version) == (len(data), 1), data
        return Frame(op, request_id, data[16:])

    def ask(self, op, body, request_id=7):
        self.say(op, body, request_id)
        return self.hear()

    def code(self, op, body, request_id=7):
        """Of the refusal that is the answer, which repeats op and id."""
        came = self.ask(op, body, request_id)
        assert came.op == REFUSED and came.id == request_id, came
        code, of, text = struct.unpack("<HH124s", came.body)
        assert of == op and text.rstrip(b"\0").isascii() and text[-1] == 0, came
        return code

    def alloc(self, ttl_ms=0):
        came = self.ask(ALLOC, alloc_body(ttl_ms))
        assert came.op == ALLOC | 0x8000, came
        parts = struct.unpack("<5Q16s6sHIIIBBBx", came.body)
        return Grant(parts[0], parts[1], parts[4], parts[10])

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def alloc_body(ttl_ms=0):
    gid = bytes.fromhex("fe80") + bytes(13) + b"\x77"
    return struct.pack("<QQ16s6sHIIBBB5x", 4096, ttl_ms, gid, b"\2\0\0\0\0\7", 1024, 0x21, 5, 3,
                       14, 6)


def name(lease, *more):
    return struct.pack("<QQ", lease.id, lease.epoch) + b"".join(more)


def outcome(frame):
    """(outcome, cause)"""
    assert frame.op == REVOKE | 0x8000, frame
    return frame.body[28], frame.body[30]


# ---- What it says ----------------------------------------------------------------------------

REVOKE_BODY = bytes(8)  # the server's plan, and what is reserved
CONFIG = """
[device]
slots = 4096
[limits]
connections = 16000
uid_connections = 16000
tenant_leases = 2000
"""


class OddRequests(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        config = pathlib.Path(held.name) / "leased.toml"
        config.write_text(CONFIG, encoding="utf-8")
        self.server = Server(LEASED, held.name, "--config", config).start()

    def tearDown(self):
        self.server.end(signal.SIGKILL)

    def peer(self, **more):
        peer = Peer(self.server.socket, **more)
        self.addCleanup(peer.close)
        return peer

    def test_everything_before_hello_is_refused_and_hello_comes_all_the_same(self):
        peer = self.peer(hello=False)
        for op, body in ((ALLOC, alloc_body()), (RENEW, bytes(24)), (LIST, bytes(16)),
                         (WATCH, bytes(8)), (STATUS, bytes(8)), (HISTORY, bytes(48)),
                         (CHALLENGE, bytes(16)), (REVOKE, bytes(24)), (REVOKE_TENANT, bytes(8))):
            self.assertEqual(peer.code(op, body), HELLO_FIRST, hex(op))
        self.assertEqual(peer.ask(HELLO, bytes(40)).op, HELLO | 0x8000)
        self.assertEqual(peer.ask(STATUS, bytes(8)).op, STATUS | 0x8000)

    def test_hello_twice_is_refused_and_changes_nothing(self):
        peer = self.peer()
        lease = peer.alloc()
        self.assertEqual(peer.code(HELLO, struct.pack("<Q32x", 99)), HELLO_FIRST)
        self.assertEqual(outcome(peer_after_notice(peer, name(lease, REVOKE_BODY))), (0, 1))

    def test_one_id_for_everything_is_answered_each_time(self):
        peer = self.peer()
        lease = peer.alloc()
        for _ in range(3):
            peer.say(REVOKE, name(lease, REVOKE_BODY))
            peer.say(STATUS, bytes(8))
            peer.say(LIST, struct.pack("<QQ", EVERY, 0))
        came = collections.Counter(peer.hear().op for _ in range(10))
        self.assertEqual(came, {REVOKED: 1, REVOKE | 0x8000: 3, STATUS | 0x8000: 3,
                                LIST | 0x8000: 3})

    def test_ids_of_any_number_are_repeated(self):
        peer = self.peer()
        for request_id in (0, 1, EVERY, 1 << 63):
            self.assertEqual(peer.ask(STATUS, bytes(8), request_id).id, request_id)

    def test_renewal_of_no_time_is_one_of_the_servers_own(self):
        peer = self.peer()
        lease = peer.alloc(ttl_ms=600_000)
        came = peer.ask(RENEW, name(lease, struct.pack("<Q", 0)))
        self.assertEqual((came.op, came.body), (RENEW | 0x8000, struct.pack("<Q", 30_000)))

    def test_time_to_live_beyond_what_hello_said_is_refused_up_to_the_last_number(self):
        peer = self.peer()
        lease = peer.alloc()
        for ttl_ms in (86_400_001, 1 << 63, EVERY):
            self.assertEqual(peer.code(ALLOC, alloc_body(ttl_ms)), INVALID)
            self.assertEqual(peer.code(RENEW, name(lease, struct.pack("<Q", ttl_ms))), INVALID)
        self.assertEqual(peer.alloc(ttl_ms=86_400_000).ttl_ms, 86_400_000)

    def test_names_that_are_nearly_one_are_not_found(self):
        peer = self.peer()
        lease = peer.alloc()
        for other in (lease._replace(epoch=lease.epoch + 1), lease._replace(id=lease.id ^ 1 << 40),
                      Grant(0, 0, 0, 0), Grant(EVERY, EVERY, 0, 0)):
            self.assertEqual(outcome(peer.ask(REVOKE, name(other, REVOKE_BODY))), (2, 0))
            self.assertEqual(peer.code(RENEW, name(other, bytes(8))), NOT_FOUND)
            self.assertEqual(peer.code(CHALLENGE, name(other)), NOT_FOUND)

    def test_lease_that_is_gone_repeats_its_outcome_and_is_not_renewed(self):
        peer = self.peer()
        lease = peer.alloc()
        first = outcome(peer_after_notice(peer, name(lease, REVOKE_BODY)))
        for _ in range(3):
            self.assertEqual(outcome(peer.ask(REVOKE, name(lease, REVOKE_BODY))), first)
            self.assertEqual(peer.code(RENEW, name(lease, bytes(8))), NOT_FOUND)

    def test_revoke_and_renewal_in_one_breath_end_in_the_outcome(self):
        peer = self.peer()
        for _ in range(50):
            lease = peer.alloc()
            peer.say(REVOKE, name(lease, REVOKE_BODY), 8)
            peer.say(RENEW, name(lease, bytes(8)), 9)
            came = {frame.id: frame for frame in (peer.hear() for _ in range(3))}
            self.assertEqual(outcome(came[8]), (0, 1))
            self.assertEqual((came[9].op, came[9].body[0]), (REFUSED, NOT_FOUND))

    def test_what_was_asked_before_the_half_close_is_answered_and_then_it_ends(self):
        peer = self.peer()
        lease = peer.alloc()
        peer.say(REVOKE, name(lease, REVOKE_BODY), 8)
        peer.say(HISTORY, bytes(48), 9)
        peer.socket.shutdown(socket.SHUT_WR)
        came = [peer.hear() for _ in range(3)]
        self.assertEqual({frame.op for frame in came},
                         {REVOKED, REVOKE | 0x8000, HISTORY | 0x8000})
        self.assertIsNone(peer.hear())

    def test_region_is_of_whole_pages_and_the_answer_says_so(self):
        peer = self.peer()
        for asked, granted in ((1, 4096), (4096, 4096), (4097, 8192)):
            came = peer.ask(ALLOC, struct.pack("<Q", asked) + alloc_body()[8:])
            self.assertEqual((came.op, struct.unpack_from("<24xQ", came.body)),
                             (ALLOC | 0x8000, (granted,)))

    def test_more_under_way_than_is_accepted_is_told_to_come_again(self):
        peer, leases = self.peer(), 100
        held = [peer.alloc(ttl_ms=600_000) for _ in range(leases)]
        for nth, lease in enumerate(held):
            peer.say(REVOKE, name(lease, REVOKE_BODY), 1000 + nth)
        answers, notices = {}, set()
        while len(answers) < leases or len(notices) < self.torn_down(answers):
            came = peer.hear()
            if came.op == REVOKED:
                notices.add(came.body[:8])
            else:
                answers[came.id] = came
        refused = [each for each in answers.values() if each.op == REFUSED]
        self.assertEqual({each.body[0] for each in refused} - {BUSY}, set())
        self.assertEqual(len(answers), leases)

    @staticmethod
    def torn_down(answers):
        return sum(each.op == REVOKE | 0x8000 for each in answers.values())

    def test_frames_that_are_none_are_named_and_end_the_connection(self):
        for op, body, more, code in (
                (STATUS, bytes(8), {"version": 2}, UNKNOWN_VERSION),
                (STATUS, bytes(8), {"length": 25}, MALFORMED),
                (STATUS, bytes(8), {"length": 0}, MALFORMED),
                (STATUS, bytes(8), {"length": 2**32 - 1}, MALFORMED),
                (STATUS, bytes(9), {}, MALFORMED),
                (STATUS, b"", {}, MALFORMED),
                (REVOKE, bytes(23) + b"\1", {}, MALFORMED),
                (ALLOC, alloc_body()[:-1] + b"\1", {}, MALFORMED)):
            peer = self.peer()
            peer.say(op, body, 99, **more)
            came = peer.hear()
            self.assertEqual((came.op, came.id, came.body[0]), (REFUSED, 99, code), (op, more))
            self.assertIsNone(peer.hear())
        peer = self.peer()
        peer.socket.send(b"short")
        came = peer.hear()
        self.assertEqual((came.op, came.id, came.body[0]), (REFUSED, 0, MALFORMED))
        self.assertIsNone(peer.hear())

    def test_ops_that_are_answers_or_notices_are_no_requests(self):
        peer = self.peer()
        for op in (0, 0x0200, 0x0209, 0x020C, REVOKED, EXPIRED, REFUSED, STATUS | 0x8000, 0xFFFF):
            self.assertEqual(peer.code(op, bytes(8), 0), UNKNOWN_OP, hex(op))

    def test_watching_twice_is_watching_what_was_asked_for_last(self):
        peer, holder = self.peer(), self.peer()
        for tenant in (EVERY, os.getuid() + 1):
            self.assertEqual(peer.ask(WATCH, struct.pack("<Q", tenant)).op, WATCH | 0x8000)
        holder.ask(REVOKE, name(holder.alloc(), REVOKE_BODY))
        for tenant in (EVERY, EVERY):
            self.assertEqual(peer.ask(WATCH, struct.pack("<Q", tenant)).op, WATCH | 0x8000)
        lease = self.peer().alloc()
        self.peer().say(REVOKE, name(lease, REVOKE_BODY))
        self.assertEqual(peer.hear().body[:16], name(lease))
        self.assertEqual(peer.ask(STATUS, bytes(8)).op, STATUS | 0x8000)  # and not once more

    def test_list_goes_on_behind_any_cursor(self):
        peer = self.peer()
        held = sorted(peer.alloc(ttl_ms=600_000).id for _ in range(130))
        found, cursor, pages = [], 0, 0
        while pages == 0 or cursor:
            body = peer.ask(LIST, struct.pack("<QQ", EVERY, cursor)).body
            cursor, count = struct.unpack_from("<QI", body)
            found += [struct.unpack_from("<Q", body, 16 + 56 * row)[0] for row in range(count)]
            pages += 1
        self.assertEqual((found, pages), (held, 3))
        body = peer.ask(LIST, struct.pack("<QQ", EVERY, EVERY)).body
        self.assertEqual(struct.unpack_from("<QI", body), (0, 0))


def peer_after_notice(peer, body):
    """The answer to a revoke by who holds the lease, and hears of its end first."""
    assert peer.ask(REVOKE, body).op == REVOKED
    return peer.hear()


if __name__ == "__main__":
    LEASED = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
