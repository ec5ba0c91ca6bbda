# SPDX-License-Identifier: BSD-3-Clause
#
# Another RC stack at the other end of a wire of Ethernet frames: rdma_rxe of the guest's kernel on
# an ordinary NIC, whose QEMU backend is joined to the model's port.
from scenario import Scenario

SCENARIO = Scenario(
    summary="soft-RoCE of the guest's kernel against our port: leases, revokes, perftest",
    script="soft-roce.sh",
    servers=[["--wire", "dgram,local={results}/wire.hca,remote={results}/wire.nic",
              "--pcap", "{results}/wire.pcap"]],
    qemu_arguments=["-netdev", "dgram,id=wire,local.type=unix,local.path={results}/wire.nic,"
                    "remote.type=unix,remote.path={results}/wire.hca",
                    "-device", "virtio-net-pci,netdev=wire,mac=02:50:43:00:00:02"],
    programs=["tools/lease_serve/lease-serve", "tools/lease_verify/lease-verify"])
