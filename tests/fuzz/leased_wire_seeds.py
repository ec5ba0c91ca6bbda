# SPDX-License-Identifier: BSD-3-Clause
"""Seeds of the targets wire_message and quic_datagram: frames as docs/wire.md has them, datagrams
and frames of QUIC as RFC 9000 has them, a ClientHello as RFC 8446 and RFC 9001 do."""

import struct

# ---- wire_message: how the stream is cut, then the stream.


def frame(op, body=b"", length=None, version=1, request=9):
    size = 16 + len(body) if length is None else length
    return struct.pack("<IHHQ", size, op, version, request) + body


REVOKE = frame(0x020A, bytes(24))
ROW = struct.pack("<6QI4B", 1, 2, 3, 4096, 5, 6, 0, 1, 3, 0, 0)
HISTORY_ROW = struct.pack("<6QI4B", 1, 2, 3, 4096, 5, 6, 0, 0, 1, 1, 0)
MESSAGES = {
    "revoke": REVOKE,
    "reserved_byte": REVOKE[:-1] + b"\1",
    "two": REVOKE + frame(0x0206, bytes(8)),
    "cut": REVOKE[:30],
    "too_long": frame(0x0206, bytes(8), length=2**32 - 1),
    "too_short": frame(0x0206, length=15),
    "other_version": frame(0x0206, bytes(8), version=2),
    "alloc": frame(0x0202, bytes(56)),
    "list": frame(0x8204, struct.pack("<QII", 7, 2, 0) + ROW * 2),
    "list_of_a_lie": frame(0x8204, struct.pack("<QII", 7, 2**32 - 1, 0) + ROW),
    "history": frame(0x8207, struct.pack("<QIB3x", 7, 1, 1) + HISTORY_ROW),
    "refusal": frame(0x8000, struct.pack("<HH124s", 1, 0x020A, b"no")),
    "notice": frame(0x4201, bytes(40), request=0),
}
WIRE_MESSAGE = {name: b"\6" + message for name, message in MESSAGES.items()}

# ---- quic_datagram

RAW, INITIAL, REPLAY, CHANGE, ASK, WAIT, NOTICE, SHORT = range(8)
VALIDATED, UNPADDED = 1, 2


def step(which, how=0, data=b""):
    return struct.pack("<BBH", which, how, len(data)) + data


def varint(value):
    return struct.pack(">H", 0x4000 | value)


def long_header(kind, version=1, dcid=bytes(8), scid=bytes(8), rest=b""):
    return (bytes([0xC0 | kind << 4]) + struct.pack(">I", version) + bytes([len(dcid)]) + dcid
            + bytes([len(scid)]) + scid + rest)


def extension(kind, data):
    return struct.pack(">HH", kind, len(data)) + data


def listed(data, width=2):
    return len(data).to_bytes(width, "big") + data


def parameter(number, value):
    return bytes([number, len(value)]) + value


# The source of target's Initial packets is eight bytes of 0x5c.
PARAMETERS = (parameter(0x0F, b"\x5c" * 8) + parameter(0x04, struct.pack(">I", 0x80100000))
              + parameter(0x05, struct.pack(">I", 0x80010000)) + parameter(0x09, b"\x10"))
EXTENSIONS = (extension(0x2B, listed(struct.pack(">H", 0x0304), 1))
              + extension(0x0A, listed(struct.pack(">H", 0x001D)))
              + extension(0x0D, listed(struct.pack(">HH", 0x0403, 0x0804)))
              + extension(0x33, listed(struct.pack(">H", 0x001D) + listed(b"\x09" + bytes(31))))
              + extension(0x10, listed(listed(b"portcullis/1", 1))))


def client_hello(parameters=PARAMETERS, extensions=EXTENSIONS, kind=0x39):
    body = (struct.pack(">H", 0x0303) + bytes(range(32)) + listed(b"", 1)
            + listed(struct.pack(">H", 0x1301)) + listed(b"\0", 1)
            + listed(extensions + extension(kind, parameters)))
    return b"\1" + listed(body, 3)


def crypto(data, offset=0):
    return b"\6" + varint(offset) + varint(len(data)) + data


HELLO = client_hello()
BEGUN = step(INITIAL, VALIDATED, crypto(HELLO))
FRAME = frame(0x0206, bytes(8))
QUIC_DATAGRAM = {
    "initial_without_a_token": step(INITIAL, 0, b"\1"),
    "initial_too_short": step(INITIAL, UNPADDED, b"\1"),
    "handshake_begun": BEGUN,
    "hello_in_two": step(INITIAL, VALIDATED, crypto(HELLO[:100]))
                    + step(INITIAL, VALIDATED | 1 << 2, crypto(HELLO[100:], 100)),
    "hello_the_second_part_first": step(INITIAL, VALIDATED, crypto(HELLO[100:], 100))
                                   + step(INITIAL, VALIDATED | 1 << 2, crypto(HELLO[:100])),
    "hello_of_another_protocol": step(INITIAL, VALIDATED,
                                      crypto(HELLO.replace(b"portcullis/1", b"portcullis/2"))),
    "hello_without_that_extension": step(INITIAL, VALIDATED, crypto(client_hello(kind=0x8A))),
    "hello_without_parameters": step(INITIAL, VALIDATED, crypto(client_hello(b""))),
    "hello_of_another_source": step(INITIAL, VALIDATED, crypto(client_hello(
        PARAMETERS.replace(b"\x5c" * 8, b"\x5d" * 8)))),
    "hello_is_no_hello": step(INITIAL, VALIDATED, crypto(b"\x02" + HELLO[1:])),
    "crypto_far_off": step(INITIAL, VALIDATED, crypto(b"x" * 16, 0x3FFF)),
    "acknowledged_what_was_not_sent": BEGUN + step(INITIAL, VALIDATED | 1 << 2,
                                                   b"\2\x40\x63\0\0\0"),
    "frame_that_no_initial_has": BEGUN + step(INITIAL, VALIDATED | 1 << 2, b"\x1e"),
    "stream_in_an_initial": BEGUN + step(INITIAL, VALIDATED | 1 << 2, b"\x08\0x"),
    "closed": BEGUN + step(INITIAL, VALIDATED | 1 << 2, b"\x1c\0\0\0"),
    "close_of_a_lie": BEGUN + step(INITIAL, VALIDATED | 1 << 2, b"\x1c\0\0\x7f\xff"),
    "played_again": BEGUN + b"".join(step(REPLAY, i) for i in range(5)),
    "waited": BEGUN + step(WAIT, 200) + step(WAIT, 200) + BEGUN,
    "nothing": step(RAW),
    "one_byte": step(RAW, 0, b"\xc0") + step(RAW, 0, b"\x40"),
    "other_version": step(RAW, 0, long_header(0, 0x1A2A3A4A).ljust(1200, b"\0")),
    "other_version_short": step(RAW, 0, long_header(0, 0x1A2A3A4A)),
    "long_ids": step(RAW, 0, long_header(0, 0x1A2A3A4A, bytes(255), bytes(255)).ljust(1200, b"\0")),
    "zero_rtt": step(RAW, 0, long_header(1, rest=varint(1100)).ljust(1200, b"\0")),
    "handshake_of_nobody": step(RAW, 0, long_header(2, rest=varint(1100)).ljust(1200, b"\0")),
    "retry_of_a_client": step(RAW, 0, long_header(3, rest=bytes(40))),
    "short_of_nobody": step(RAW, 0, b"\x40" + bytes(60)),
    "short_of_the_client": step(ASK, 0, FRAME) + step(SHORT, 0, bytes(40)),
    "client_asks": step(ASK, 0, FRAME) + step(NOTICE, 3) + step(ASK, 0, FRAME + FRAME[:20]),
    "client_asks_noise": step(ASK, 0, bytes(100)) + step(ASK),
    "client_changed_on_its_way": step(CHANGE, 0, b"\x80") + step(CHANGE, 4, b"\1")
                                 + step(ASK, 0, FRAME),
    "client_played_again_from_elsewhere": step(ASK, 0, FRAME) + step(REPLAY) + step(REPLAY, 1),
}
