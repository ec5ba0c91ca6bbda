# SPDX-License-Identifier: BSD-3-Clause
"""Seeds of the target lease_session, bodies as docs/wire.md has them."""

import struct

OPEN, CLOSE, RAW, REQUEST, DEVICE, JOURNAL, EXPIRE, WAIT, END = range(9)
HELLO, ALLOC, RENEW, LIST, WATCH, STATUS, REVOKE, REVOKE_TENANT = 1, 2, 3, 4, 5, 6, 10, 11
CHALLENGE = 8


def step(which, whom=0, data=b""):
    return struct.pack("<BBB", which, whom, len(data)) + data


def request(op, body, whom=0, lease=0):
    return step(REQUEST, whom, bytes([op, lease]) + body)


def opened(whom=0):
    return step(OPEN, whom) + request(HELLO, bytes(40), whom)


GID = bytes(10) + b"\xff\xff" + bytes([192, 0, 2, 9])
BODY = struct.pack("<QQ16s6sHIIBBB5x", 4096, 0, GID, bytes([2, 0, 0, 0, 0, 9]), 1024, 0x11, 0, 3,
                   14, 6)
ASKED = request(ALLOC, BODY)
GRANTED = ASKED + step(DEVICE) + step(JOURNAL)
REVOKED = request(REVOKE, bytes(24)) + step(DEVICE)
CHALLENGED = step(WAIT, 1) + GRANTED + request(CHALLENGE, bytes(16))
NOISE = struct.pack("<IHHQ", 40, 0x020A, 1, 9) + bytes(24)

SEEDS = {
    "life": opened() + GRANTED + request(RENEW, bytes(24)) + step(DEVICE) + REVOKED,
    "revoked_twice": opened() + GRANTED + request(REVOKE, bytes(24)) * 2 + step(DEVICE),
    "expired_under_a_revoke": opened() + GRANTED + request(REVOKE, bytes(24)) + step(EXPIRE),
    "ended_before_it_was_told": opened() + ASKED + step(DEVICE) + step(EXPIRE) + step(JOURNAL),
    "journal_full": opened() + ASKED + step(DEVICE) + step(JOURNAL, 1) + step(DEVICE),
    "gone_before_it_was_told": opened() + ASKED + step(DEVICE) + step(CLOSE) + step(JOURNAL),
    "tenant": opened() + opened(4) + GRANTED * 3
              + request(REVOKE_TENANT, struct.pack("<Q", 0), 4) + step(DEVICE),
    "watched": opened(5) + request(WATCH, b"\xff" * 8, 5) + opened() + GRANTED + REVOKED,
    "fenced_and_listed": opened() + GRANTED + request(REVOKE, bytes(24)) + step(DEVICE, 2)
                         + request(LIST, bytes(16)),
    "orphan": opened() + GRANTED + step(CLOSE) + step(DEVICE) + opened()
              + request(RENEW, bytes(24)) + step(DEVICE),
    "server_ends": opened() + GRANTED + ASKED + step(END) + step(DEVICE) * 3 + step(JOURNAL),
    "challenge_met": opened() + CHALLENGED + step(DEVICE) + request(CHALLENGE, bytes(16)),
    "challenge_missed": opened() + CHALLENGED + step(DEVICE, 1) + request(CHALLENGE, bytes(16)),
    "challenge_of_another": opened() + opened(1) + CHALLENGED + request(CHALLENGE, bytes(16), 1)
                            + REVOKED,
    "no_hello": step(OPEN) + request(STATUS, bytes(8)),
    "raw": opened() + step(RAW, 0, NOISE) + step(RAW, 0, NOISE[:20]),
    "refused_by_the_device": opened() + ASKED + step(DEVICE, 3) + request(STATUS, bytes(8)),
}
