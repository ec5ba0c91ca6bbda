# SPDX-License-Identifier: BSD-3-Clause
"""Seeds of the data path's fuzz targets: frames, WQEs, and entries of completion and event queues.

BTH opcodes are those of include/rdma/ib_pack.h, the rest those of infiniband/mlx5dv.h.
"""

import struct

# ---- frames: steps of frame_fuzz.cpp ----

RAW, SUMMED, BUILT, WRITE, READ, SEND, RECEIVE, WAIT, ERROR = range(9)
SEND_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 0x04, 0x06, 0x07, 0x08, 0x0A
READ_REQUEST, RESPONSE_ONLY, ACK, ATOMIC_ACK, SWAP, ADD = 0x0C, 0x10, 0x11, 0x12, 0x13, 0x14
OTHER_KEY, NO_KEY = 1, 2
NAK_SEQUENCE, NAK_REQUEST, NAK_ACCESS, RNR = 0x60, 0x61, 0x62, 0x20


def step(kind, body=b""):
    return struct.pack("<BH", kind, len(body)) + body


def built(opcode, payload=b"", psn=0, ask=True, key=0, va=0, length=None, syndrome=0x1F, imm=0):
    length = len(payload) if length is None else length
    return step(BUILT, struct.pack("<BbBBiIBI", opcode, psn, ask, key, va, length, syndrome, imm)
                + payload)


def ipv4(payload, protocol=17, length=None, port=4791):
    """A frame from the peer to the host of the test, its sums left to others."""
    udp = struct.pack(">HHHH", 0xC321, port, 8 + len(payload) + 4, 0) + payload
    total = 20 + len(udp) + 4 if length is None else length
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, total, 0, 0x4000, 64, protocol, 0,
                       bytes([192, 0, 2, 2]), bytes([192, 0, 2, 1]))
    total = sum(struct.unpack(">10H", head))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    head = head[:10] + struct.pack(">H", ~total & 0xFFFF) + head[12:]
    return (bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]) + head + udp + bytes(4))


def bth(opcode, psn=0x123, qpn=0x40, version=0):
    return struct.pack(">BBHII", opcode, version, 0xFFFF, qpn, 0x80000000 | psn)


FRAMES = {
    "writes": built(WRITE_FIRST, bytes(1024), length=2060) + built(WRITE_MIDDLE, bytes(1024))
    + built(WRITE_LAST, bytes(12)),
    "write_over_the_end": built(WRITE_ONLY, bytes(64), va=8150),
    "write_before_the_start": built(WRITE_ONLY, bytes(64), va=-1),
    "write_without_the_right": built(WRITE_ONLY, bytes(64), key=OTHER_KEY),
    "write_under_no_key": built(WRITE_ONLY, bytes(64), key=NO_KEY),
    "write_of_nothing": built(WRITE_ONLY, key=NO_KEY),
    "write_longer_than_it_says": built(WRITE_ONLY, bytes(64), length=10),
    "write_shorter_than_it_says": built(WRITE_FIRST, bytes(1024), length=0x80000000),
    "middle_of_nothing": built(WRITE_MIDDLE, bytes(1024)),
    "duplicate_and_gap": built(WRITE_ONLY, bytes(64)) + built(WRITE_ONLY, bytes(64), psn=-1)
    + built(WRITE_ONLY, bytes(64), psn=5) + built(WRITE_ONLY, bytes(64)),
    "sends": step(RECEIVE) + built(SEND_ONLY, bytes(100)) + built(SEND_ONLY, bytes(100)),
    "sends_too_long": step(RECEIVE) + built(0x00, bytes(1024)) + built(0x01, bytes(1024))
    + built(0x01, bytes(1024)) + built(0x02, bytes(1024)),
    "every_opcode": b"".join(built(opcode, bytes(64)) for opcode in range(0x18)),
    "reads": built(READ_REQUEST, length=5000) + built(READ_REQUEST, length=5000, psn=-5)
    + built(READ_REQUEST, length=64, key=OTHER_KEY),
    "atomics": built(SWAP, bytes(28)) + built(ADD, bytes(28)) + built(ADD, bytes(28), psn=-1),
    "acknowledged": step(WRITE) + built(ACK, psn=1) + step(WRITE) + built(ACK, psn=0),
    "acknowledged_before_it_was_sent": built(ACK) + step(WRITE) + built(ACK, psn=100),
    "naks": step(WRITE) + built(ACK, syndrome=NAK_SEQUENCE) + built(ACK, syndrome=RNR + 1)
    + step(WAIT) + built(ACK, syndrome=NAK_ACCESS) + built(ACK, syndrome=NAK_REQUEST),
    "nak_of_no_kind": step(WRITE) + built(ACK, syndrome=0x7F),
    "read_responses": step(READ) + built(RESPONSE_ONLY, bytes(3000)) + built(RESPONSE_ONLY),
    "read_responses_in_parts": step(READ) + built(0x0D, bytes(1024)) + built(0x0E, bytes(1024))
    + built(0x0F, bytes(952)),
    "read_response_too_long": step(READ) + built(0x0D, bytes(1024)) + built(0x0F, bytes(1024)),
    "response_to_a_write": step(WRITE) + built(RESPONSE_ONLY, bytes(64)),
    "atomic_response_to_a_read": step(READ) + built(ATOMIC_ACK, bytes(8)),
    "nobody_answers": step(WRITE) + step(SEND) + step(WAIT) * 12,
    "after_the_end": step(ERROR) + built(WRITE_ONLY, bytes(64)) + step(WRITE) + built(ACK),
    "frame_right": step(SUMMED, ipv4(bth(0x0A) + struct.pack(">QII", 0, 0, 0))),
    "frame_of_another_service": step(SUMMED, ipv4(bth(0x64) + bytes(16))),
    "frame_of_a_reserved_opcode": step(SUMMED, ipv4(bth(0x15) + bytes(16))),
    "frame_with_a_pad_of_nothing": step(SUMMED, ipv4(bth(0x04, version=0x30))),
    "frame_of_a_version_to_come": step(SUMMED, ipv4(bth(0x04, version=0x01))),
    "frame_cut_in_its_headers": step(RAW, ipv4(bth(0x0A))[:50]),
    "frame_longer_than_its_ip": step(SUMMED, ipv4(bth(0x04) + bytes(40), length=60)),
    "frame_shorter_than_its_ip": step(SUMMED, ipv4(bth(0x04), length=1400)),
    "frame_of_another_port": step(SUMMED, ipv4(bth(0x04), port=53)),
    "frame_of_another_protocol": step(SUMMED, ipv4(bth(0x04), protocol=6)),
    "frame_with_a_wrong_sum": step(RAW, ipv4(bth(0x04))),
    "frame_of_zeros": step(RAW, bytes([2, 0, 0, 0, 0, 1]) + bytes(60)),
}

# ---- WQEs: wqe_fuzz.cpp ----

PUT_RIGHT, UMR_QP = 1, 2
OP_NOP, OP_WRITE, OP_WRITE_IMM, OP_SEND, OP_SEND_IMM = 0x00, 0x08, 0x09, 0x0A, 0x0B
OP_SEND_INVAL, OP_READ, OP_SWAP, OP_ADD, OP_LOCAL_INVAL, OP_UMR = 0x01, 0x10, 0x11, 0x12, 0x1B, 0x25
SHARED, GUARDED = 0x25A, 0x35A
UMR_INLINE, UMR_OFFSET = 0x80, 0x10
FREE, RIGHTS = 1 << 29, 0x1F << 17


def wqe(opcode, *segments, ds=None, imm=0, flags=8):
    body = b"".join(segments)
    ds = 1 + (len(body) + 15) // 16 if ds is None else ds
    raw = struct.pack(">IIBHBI", opcode, 0x40 << 8 | ds, 0, 0, flags, imm) + body
    return raw + bytes(-len(raw) % 64)


def remote(address=0, key=SHARED):
    return struct.pack(">QII", address, key, 0)


def data(length, key=SHARED, address=0):
    return struct.pack(">IIQ", length, key, address)


def inline(body, length=None):
    length = len(body) if length is None else length
    raw = struct.pack(">I", 0x80000000 | length) + body
    return raw + bytes(-len(raw) % 16)


def umr(flags, mask, octowords=0, behind=b"", free=0, key=SHARED):
    control = struct.pack(">B3xHHQ32x", flags, octowords, 0, mask)
    context = struct.pack(">B63x", free)
    return wqe(OP_UMR, control, context, behind, imm=key)


def queue(*wqes, flags=PUT_RIGHT, producer=None, receives=0, rq=b""):
    sq = b"".join(wqes)
    blocks = len(sq) // 64 if producer is None else producer
    return struct.pack("<BHH", flags, blocks, receives) + sq.ljust(1024, b"\0") + rq


RECEIVE_WQE = data(64) + data(0, 0x100)

WQES = {
    "nops": queue(wqe(OP_NOP), wqe(OP_NOP)),
    "write": queue(wqe(OP_WRITE, remote(), data(64))),
    "write_of_nothing": queue(wqe(OP_WRITE, remote())),
    "write_inline": queue(wqe(OP_WRITE, remote(), inline(b"x" * 60))),
    "write_inline_longer_than_its_wqe": queue(wqe(OP_WRITE, remote(), inline(b"x", 0x7FFFFFFF))),
    "write_of_all_there_is": queue(wqe(OP_WRITE, remote(), data(0x7FFFFFFF))),
    "write_of_many_pieces": queue(wqe(OP_WRITE, remote(), *[data(8)] * 60)),
    "write_without_its_address": queue(wqe(OP_WRITE)),
    "write_where_it_may_not": queue(wqe(OP_WRITE, remote(key=GUARDED), data(64))),
    "write_imm": queue(wqe(OP_WRITE_IMM, remote(), data(64), imm=7), receives=4,
                       rq=RECEIVE_WQE * 4),
    "read": queue(wqe(OP_READ, remote(key=GUARDED), data(64))),
    "read_to_where_it_may_not": queue(wqe(OP_READ, remote(), data(64, GUARDED))),
    "read_of_nothing": queue(wqe(OP_READ, remote())),
    "atomics": queue(wqe(OP_SWAP, remote(), bytes(16), data(8)),
                     wqe(OP_ADD, remote(4), bytes(16), data(8))),
    "atomic_without_its_operands": queue(wqe(OP_SWAP, remote())),
    "sends": queue(wqe(OP_SEND, data(64)), wqe(OP_SEND_IMM, data(64), imm=9), receives=2,
                   rq=RECEIVE_WQE * 4),
    "send_invalidate": queue(wqe(OP_SEND_INVAL, data(8), imm=SHARED), receives=1,
                             rq=RECEIVE_WQE),
    "send_without_a_receive": queue(wqe(OP_SEND, data(64))),
    "receive_where_it_may_not": queue(wqe(OP_SEND, data(64)), receives=1,
                                      rq=data(64, GUARDED) + data(0, 0x100)),
    "more_receives_than_there_are": queue(wqe(OP_SEND, data(64)), receives=60000),
    "local_invalidate": queue(wqe(OP_LOCAL_INVAL, imm=SHARED)),
    "umr_that_frees": queue(umr(UMR_INLINE, FREE, free=0x40)),
    "umr_of_a_umr_qp": queue(umr(UMR_INLINE, FREE, free=0x40), flags=PUT_RIGHT | UMR_QP),
    "umr_of_rights": queue(umr(UMR_INLINE, RIGHTS, key=GUARDED), wqe(OP_WRITE, remote(), data(8))),
    "umr_with_translations": queue(umr(UMR_INLINE, 0, 1, bytes(16))),
    "umr_with_more_than_it_has": queue(umr(UMR_INLINE, 0, 0xFFFF)),
    "umr_by_reference": queue(umr(0, 0, 2, data(64))),
    "umr_at_an_offset": queue(umr(UMR_INLINE | UMR_OFFSET, 0, 1, bytes(16))),
    "umr_without_its_context": queue(wqe(OP_UMR, bytes(48), imm=SHARED)),
    "write_of_a_umr_qp": queue(wqe(OP_WRITE, remote(), data(64)), flags=PUT_RIGHT | UMR_QP),
    "opcode_of_nothing": queue(wqe(0xFF, bytes(48))),
    "wqe_of_no_size": queue(wqe(OP_WRITE, remote(), ds=0), flags=0),
    "wqe_longer_than_the_queue": queue(wqe(OP_WRITE, remote(), ds=63)),
    "index_of_another": queue(wqe(OP_WRITE, remote(), data(64)), flags=0),
    "producer_far_ahead": queue(wqe(OP_NOP), producer=0xFFFF),
}

# ---- CQEs and EQEs: queue_entry_fuzz.cpp ----

QPN = 0x1ABCD
REQ, RESP_WRITE_IMM, RESP_SEND, RESP_SEND_IMM, RESP_SEND_INV = 0x0, 0x1, 0x2, 0x3, 0x4
REQ_ERR, RESP_ERR, INVALID = 0xD, 0xE, 0xF


def cqe(opcode=REQ, wqe_opcode=OP_WRITE, qpn=QPN, counter=0, byte_count=0):
    return struct.pack(">44xI8xIHBB", byte_count, wqe_opcode << 24 | qpn, counter, 0, opcode << 4)


def error_cqe(syndrome, opcode=REQ_ERR, counter=0):
    return struct.pack(">54xBBIHBB", 0x81, syndrome, OP_WRITE << 24 | QPN, counter, 0, opcode << 4)


def eqe(kind, sub_type=0, body=b""):
    return struct.pack(">xBxB28x", kind, sub_type) + body.ljust(28, b"\0") + bytes(4)


def posted(count, *entries):
    return bytes([count]) + b"".join(entries)


QUEUE_ENTRIES = {
    "nothing": posted(0),
    "successes": posted(3, cqe(), cqe(counter=1), cqe(counter=2)),
    "one_for_several": posted(3, cqe(counter=2)),
    "more_than_were_posted": posted(1, cqe(), cqe(counter=1)),
    "counter_of_nothing": posted(2, cqe(counter=0xFFFF)),
    "twice": posted(2, cqe(), cqe()),
    "of_another_qp": posted(1, cqe(qpn=5)),
    "opcode_of_nothing": posted(1, cqe(opcode=9)),
    "never_written": posted(1, cqe(opcode=INVALID), cqe()),
    "request_nobody_posts": posted(1, cqe(wqe_opcode=0xEE)),
    "receive_without_one": posted(1, cqe(opcode=RESP_SEND)),
    "receives": posted(0, cqe(opcode=RESP_SEND_IMM), cqe(opcode=RESP_WRITE_IMM),
                       cqe(opcode=RESP_SEND_INV)),
    "errors": posted(3, error_cqe(0x13), error_cqe(0x05, counter=1), error_cqe(0x05, counter=2)),
    "receive_in_error": posted(1, error_cqe(0x05, RESP_ERR)),
    "error_of_no_kind": posted(1, error_cqe(0xEE)),
    "error_that_is_none": posted(1, error_cqe(0)),
    "many_passes": posted(8, *[cqe(counter=i) for i in range(40)]),
    "events": posted(0, *[eqe(kind, body=struct.pack(">24xI", QPN)) for kind in range(0x25)]),
    "page_requests": posted(0, eqe(0x0B, body=struct.pack(">HHI", 0, 1, 0xFFFFFFFF)),
                            eqe(0x0B, body=b"\xff" * 28)),
    "port_changes": posted(0, *[eqe(0x09, sub, b"\0" * 8 + b"\x10") for sub in range(12)]),
    "ones": posted(8, b"\xff" * 256),
}
