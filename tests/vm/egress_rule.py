# SPDX-License-Identifier: BSD-3-Clause
#
# Run in a guest: a rule over what a port sends, as libmlx5 and mlx5_ib make it of a program's words
# (a root table of mlx5dv_dr in the domain NIC_TX).
"""Keeps what has one protocol of IPv4 from leaving a port while a command runs.

    egress_rule.py DEVICE PROTOCOL COMMAND ..

Its last line is "PROTOCOL: stopped N frames, M octets", as the rule's counter has it. The status is
the command's, and 2 where there is no such rule."""

import struct
import subprocess
import sys

from pyverbs.providers.mlx5.dr_action import DrActionDrop, DrActionFlowCounter
from pyverbs.providers.mlx5.dr_domain import DrDomain
from pyverbs.providers.mlx5.dr_matcher import DrMatcher
from pyverbs.providers.mlx5.dr_rule import DrRule
from pyverbs.providers.mlx5.dr_table import DrTable
from pyverbs.providers.mlx5.mlx5_enums import (MLX5DV_CONTEXT_FLAGS_DEVX,
                                               MLX5DV_DR_DOMAIN_TYPE_NIC_TX)
from pyverbs.providers.mlx5.mlx5dv import Mlx5Context, Mlx5DevxObj, Mlx5DVContextAttr
from pyverbs.providers.mlx5.mlx5dv_flow import Mlx5FlowMatchParameters
from pyverbs.pyverbs_error import PyverbsError

ALLOC_FLOW_COUNTER = 0x939
QUERY_FLOW_COUNTER = 0x93b
OUTER_HEADERS = 1
ETHERTYPE_IPV4 = 0x800
ROOT = 0


def outer_headers(ethertype: int, protocol: int) -> Mlx5FlowMatchParameters:
    """fte_match_set_lyr_2_4 of mlx5_ifc.h, with nothing else in it."""
    words = struct.pack("!6xH8xB47x", ethertype, protocol)
    return Mlx5FlowMatchParameters(len(words), words)


class Counter:
    """One flow counter, by DevX."""

    def __init__(self, context: Mlx5Context):
        self.object = Mlx5DevxObj(context, struct.pack("!H14x", ALLOC_FLOW_COUNTER), 16)
        self.number = struct.unpack_from("!I", self.object.out_view, 8)[0]

    def read(self) -> tuple[int, int]:
        """Frames and octets."""
        said = self.object.query(struct.pack("!H26xI", QUERY_FLOW_COUNTER, self.number), 32)
        return struct.unpack_from("!QQ", said, 16)


def main() -> int:
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    device, protocol, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    try:
        context = Mlx5Context(Mlx5DVContextAttr(flags=MLX5DV_CONTEXT_FLAGS_DEVX), name=device)
        counter = Counter(context)
        domain = DrDomain(context, MLX5DV_DR_DOMAIN_TYPE_NIC_TX)
        table = DrTable(domain, ROOT)
        matcher = DrMatcher(table, 0, OUTER_HEADERS, outer_headers(0xffff, 0xff))
        actions = [DrActionFlowCounter(counter.object), DrActionDrop()]
        rule = DrRule(matcher, outer_headers(ETHERTYPE_IPV4, protocol), actions)
    except PyverbsError as error:
        print(f"egress_rule: {device}, protocol {protocol}: {error}", file=sys.stderr)
        return 2
    status = subprocess.run(command, check=False).returncode
    frames, octets = counter.read()
    print(f"{protocol}: stopped {frames} frames, {octets} octets", flush=True)
    for thing in (rule, matcher, table, domain, *actions, counter.object, context):
        thing.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
