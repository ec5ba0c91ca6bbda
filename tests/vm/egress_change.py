# SPDX-License-Identifier: BSD-3-Clause
#
# Run in a guest: a rule that changes what a port sends, as libmlx5 and mlx5_ib make it of a
# program's words (a root table of mlx5dv_dr in the domain NIC_TX).
"""Changes what has one protocol of IPv4 as it leaves a port, while a command runs.

    egress_change.py DEVICE PROTOCOL dscp COMMAND ..
    egress_change.py DEVICE PROTOCOL vxlan:FROM,TO,TO_MAC COMMAND ..

dscp: the DSCP is 46 and the TTL one less. vxlan: the frame goes in VXLAN 7 between these addresses
of IPv4. The status is the command's, and 2 where there is no such rule."""

import socket
import struct
import subprocess
import sys

from egress_rule import ETHERTYPE_IPV4, OUTER_HEADERS, ROOT, outer_headers
from pyverbs.providers.mlx5 import mlx5_enums
from pyverbs.providers.mlx5.dr_action import DrActionModify, DrActionPacketReformat
from pyverbs.providers.mlx5.dr_domain import DrDomain
from pyverbs.providers.mlx5.dr_matcher import DrMatcher
from pyverbs.providers.mlx5.dr_rule import DrRule
from pyverbs.providers.mlx5.dr_table import DrTable
from pyverbs.providers.mlx5.mlx5dv import Mlx5Context, Mlx5DVContextAttr
from pyverbs.pyverbs_error import PyverbsError

ROOT_LEVEL = mlx5_enums.MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL
SET, ADD = 1, 2  # MLX5_ACTION_TYPE_* of mlx5_ifc.h
IP_DSCP, IP_TTL = 0x6, 0xa  # MLX5_ACTION_IN_FIELD_OUT_*
DSCP = 46
DSCP_BITS = 6
VXLAN_PORT, VNI = 4789, 7
HOPS = 64


def change_headers(domain: DrDomain) -> DrActionModify:
    """set_action_in and add_action_in of mlx5_ifc.h."""
    actions = [struct.pack("!HBBI", SET << 12 | IP_DSCP, 0, DSCP_BITS, DSCP),
               struct.pack("!HHI", ADD << 12 | IP_TTL, 0, 0xff)]
    return DrActionModify(domain, ROOT_LEVEL, actions)


def wrap(domain: DrDomain, words: str) -> DrActionPacketReformat:
    """Lengths and checksum 0, as Linux's mlx5e leaves them to the device."""
    source, to, mac = words.split(",")
    header = bytes.fromhex(mac.replace(":", "")) + struct.pack("!6sH", b"\2", ETHERTYPE_IPV4)
    header += struct.pack("!BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, HOPS, socket.IPPROTO_UDP, 0,
                          socket.inet_aton(source), socket.inet_aton(to))
    header += struct.pack("!HHHH", VXLAN_PORT, VXLAN_PORT, 0, 0)
    header += struct.pack("!II", 0x8000000, VNI << 8)
    kind = mlx5_enums.MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL_
    return DrActionPacketReformat(domain, ROOT_LEVEL, kind, header)


def main() -> int:
    if len(sys.argv) < 5:
        print(__doc__, file=sys.stderr)
        return 2
    device, protocol, change, command = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    try:
        context = Mlx5Context(Mlx5DVContextAttr(flags=mlx5_enums.MLX5DV_CONTEXT_FLAGS_DEVX),
                              name=device)
        domain = DrDomain(context, mlx5_enums.MLX5DV_DR_DOMAIN_TYPE_NIC_TX)
        table = DrTable(domain, ROOT)
        matcher = DrMatcher(table, 0, OUTER_HEADERS, outer_headers(0xffff, 0xff))
        action = (change_headers(domain) if change == "dscp"
                  else wrap(domain, change.removeprefix("vxlan:")))
        rule = DrRule(matcher, outer_headers(ETHERTYPE_IPV4, protocol), [action])
    except PyverbsError as error:
        print(f"egress_change: {device}, protocol {protocol}: {error}", file=sys.stderr)
        return 2
    status = subprocess.run(command, check=False).returncode
    for thing in (rule, matcher, table, domain, action, context):
        thing.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
