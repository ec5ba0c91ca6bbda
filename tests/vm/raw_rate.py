# SPDX-License-Identifier: BSD-3-Clause
#
# Run in a guest: how long frames of a raw packet queue pair take, without a rate and with one that
# ibv_modify_qp gives it (IBV_QP_RATE_LIMIT).
"""Sends frames at no rate, at 800 kbit/s, and at none again.

    raw_rate.py DEVICE

Says how long each took; 0 when those at a rate took as long as it says, and the others less."""

import sys
import time

from pyverbs import enums
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

KBPS = 800
FRAMES = 32
FRAME_BYTES = 1000
FCS_BYTES = 4
# To a group that nobody is in, with an EtherType for experiments (IEEE 802, 0x88b5).
FRAME = bytes.fromhex("0350430000ff" "025043000001" "88b5").ljust(FRAME_BYTES, b"\0")
# The first leaves at once, each of the others when the one before it has had its time.
LEAST_MS = (FRAMES - 1) * (FRAME_BYTES + FCS_BYTES) * 8 / KBPS


def send(qp: QP, cq: CQ, mr: MR) -> float:
    """Milliseconds from the first to the last completion and what went before it."""
    began = time.monotonic()
    for number in range(FRAMES):
        qp.post_send(SendWR(num_sge=1, sg=[SGE(mr.buf, FRAME_BYTES, mr.lkey)], wr_id=number,
                            opcode=enums.IBV_WR_SEND, send_flags=enums.IBV_SEND_SIGNALED))
    left = FRAMES
    while left and time.monotonic() < began + 60:
        count, found = cq.poll(left)
        if any(wc.status != enums.IBV_WC_SUCCESS for wc in found):
            sys.exit("raw_rate: a frame was not sent")
        left -= count
    return (time.monotonic() - began) * 1000


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    context = Context(name=sys.argv[1])
    domain = PD(context)
    cq = CQ(context, FRAMES)
    mr = MR(domain, FRAME_BYTES, enums.IBV_ACCESS_LOCAL_WRITE)
    mr.write(FRAME, FRAME_BYTES)
    capacity = QPCap(max_send_wr=FRAMES, max_recv_wr=1, max_send_sge=1, max_recv_sge=1)
    qp = QP(domain, QPInitAttr(qp_type=enums.IBV_QPT_RAW_PACKET, scq=cq, rcq=cq, cap=capacity),
            QPAttr(port_num=1))
    took = {}
    for rate in (0, KBPS, 0):
        attributes = QPAttr(qp_state=enums.IBV_QPS_RTS, port_num=1)
        attributes.rate_limit = rate
        qp.modify(attributes, enums.IBV_QP_STATE | enums.IBV_QP_RATE_LIMIT)
        took[rate] = send(qp, cq, mr)
        print(f"{rate} kbit/s: {FRAMES} frames took {took[rate]:.1f} ms", flush=True)
    print(f"at {KBPS} kbit/s {LEAST_MS:.1f} ms are the least")
    for thing in (qp, mr, cq, domain, context):
        thing.close()
    return 0 if took[0] < LEAST_MS <= took[KBPS] else 1


if __name__ == "__main__":
    sys.exit(main())
