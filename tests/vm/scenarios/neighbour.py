# SPDX-License-Identifier: BSD-3-Clause
#
# ARP, neighbour discovery and ping of Linux against the answers of our driver.
from scenario import Scenario

SCENARIO = Scenario(
    summary="the guest's kernel resolves and pings a port of our driver",
    script="neighbour.sh",
    servers=[["--behaviour", "eth-offloads",
              "--wire", "dgram,local={results}/wire.hca,remote={results}/wire.nic",
              "--pcap", "{results}/wire.pcap"]],
    qemu_arguments=["-netdev", "dgram,id=wire,local.type=unix,local.path={results}/wire.nic,"
                    "remote.type=unix,remote.path={results}/wire.hca",
                    "-device", "virtio-net-pci,netdev=wire,mac=02:50:43:00:00:02"],
    programs=["tools/lease_serve/lease-serve", "tools/lease_verify/lease-verify"])
