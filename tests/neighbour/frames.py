# SPDX-License-Identifier: BSD-3-Clause
#
# The frames of tests/neighbour, built by scapy, which knows nothing of neighbour/: what a peer
# asks, and what a host answers it. A ctest holds frames.hpp against it.
"""Prints the frames of tests/neighbour/frames.hpp; --check compares with the file beside it,
--corpus FOLDER writes them as seeds of the fuzz target neighbour."""

import re
import sys
from pathlib import Path

from scapy.compat import raw
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import (ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS,
                                ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6)
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Padding

OURS, PEER = "02:50:43:00:00:01", "02:50:43:00:00:02"
OUR4, PEER4 = "192.0.2.1", "192.0.2.2"
OUR6, PEER6, GROUP6 = "2001:db8::11:2201", "2001:db8::2", "ff02::1:ff11:2201"
GROUP_MAC, ALL_MAC, BROADCAST = "33:33:ff:11:22:01", "33:33:00:00:00:01", "ff:ff:ff:ff:ff:ff"
PAYLOAD = bytes(range(33))


def padded(frame):
    left = 60 - len(raw(frame))
    return frame / Padding(bytes(left)) if left > 0 else frame


def eth(source, dest):
    return Ether(src=source, dst=dest)


def ask_arp(sender=PEER4):
    return ARP(op=1, hwsrc=PEER, psrc=sender, hwdst="00:00:00:00:00:00", pdst=OUR4)


def answer_arp(target=PEER4):
    return ARP(op=2, hwsrc=OURS, psrc=OUR4, hwdst=PEER, pdst=target)


def advertisement(dest, solicited):
    return (IPv6(src=OUR6, dst=dest, hlim=255)
            / ICMPv6ND_NA(R=0, S=solicited, O=1, tgt=OUR6) / ICMPv6NDOptDstLLAddr(lladdr=OURS))


def solicit(source=PEER6, dest=GROUP6, hops=255, option=PEER):
    asked = IPv6(src=source, dst=dest, hlim=hops) / ICMPv6ND_NS(tgt=OUR6)
    return asked / ICMPv6NDOptSrcLLAddr(lladdr=option) if option else asked


def frames():
    to_us, to_peer = eth(PEER, OURS), eth(OURS, PEER)
    all_, group = eth(PEER, BROADCAST), eth(PEER, GROUP_MAC)
    ping = ICMP(type=8, id=7, seq=9) / PAYLOAD
    return {
        "ArpRequest": padded(all_ / ask_arp()),
        "ArpReply": padded(to_peer / answer_arp()),
        "ArpProbe": padded(all_ / ask_arp("0.0.0.0")),
        "ArpProbeReply": padded(to_peer / answer_arp("0.0.0.0")),
        "ArpOnVlan": padded(all_ / Dot1Q(vlan=5) / ask_arp()),
        "ArpReplyOnVlan": padded(to_peer / Dot1Q(vlan=5) / answer_arp()),
        "ArpAnnouncement": padded(eth(OURS, BROADCAST) / ARP(
            op=1, hwsrc=OURS, psrc=OUR4, hwdst="00:00:00:00:00:00", pdst=OUR4)),
        "Ping": to_us / IP(src=PEER4, dst=OUR4, id=3, tos=4) / ping,
        "Pong": to_peer / IP(src=OUR4, dst=PEER4, id=0, flags="DF", ttl=64, tos=4)
                / ICMP(type=0, id=7, seq=9) / PAYLOAD,
        "PingWithOptions": to_us / IP(src=PEER4, dst=OUR4, options=[b"\x01\x01\x01\x00"]) / ping,
        "PingFragment": to_us / IP(src=PEER4, dst=OUR4, flags="MF") / ping,
        "PingFromUs": to_us / IP(src=OUR4, dst=OUR4) / ping,
        "Solicitation": group / solicit(),
        "SolicitationWithoutOption": group / solicit(option=None),
        "UnicastSolicitation": to_us / solicit(dest=OUR6),
        "Advertisement": to_peer / advertisement(PEER6, 1),
        "DuplicateCheck": group / solicit("::", option=None),
        "UnsolicitedAdvertisement": eth(OURS, ALL_MAC) / advertisement("ff02::1", 0),
        "DuplicateCheckWithOption": group / solicit("::"),
        "SolicitationFromAfar": group / solicit(hops=254),
        "SolicitationOfGroupMac": group / solicit(option="33:33:00:00:00:01"),
        "Ping6": to_us / IPv6(src=PEER6, dst=OUR6, hlim=9)
                 / ICMPv6EchoRequest(id=7, seq=9, data=PAYLOAD),
        "Pong6": to_peer / IPv6(src=OUR6, dst=PEER6, hlim=64)
                 / ICMPv6EchoReply(id=7, seq=9, data=PAYLOAD),
    }


def text():
    lines = ["// SPDX-License-Identifier: BSD-3-Clause", "//",
             "// Printed by frames.py: what scapy makes of each frame.", "#pragma once", "",
             "#include <string_view>", "", "namespace portcullis::testing::frames {", "",
             "// clang-format off"]
    for name, frame in frames().items():
        digits = raw(frame).hex()
        lines.append(f"inline constexpr std::string_view k{name} =")
        parts = [digits[at:at + 88] for at in range(0, len(digits), 88)]
        lines += [f'    "{part}"' for part in parts[:-1]] + [f'    "{parts[-1]}";']
    return "\n".join(lines + ["// clang-format on", "",
                              "}  // namespace portcullis::testing::frames", ""])


def write_seeds(folder: Path) -> None:
    for name, frame in frames().items():
        vlan = bytes([1 if name.endswith("Vlan") else 0])
        (folder / re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()).write_bytes(vlan + raw(frame))


def main() -> int:
    if sys.argv[1:2] == ["--corpus"]:
        write_seeds(Path(sys.argv[2]))
        return 0
    if sys.argv[1:] != ["--check"]:
        print(text(), end="")
        return 0
    return 0 if (Path(__file__).parent / "frames.hpp").read_text() == text() else 1


if __name__ == "__main__":
    sys.exit(main())
