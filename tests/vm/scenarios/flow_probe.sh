# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: every probe on each function, then what they said.
modprobe -a vfio_iommu_type1 vfio-pci
seen=$(hca 0)
other=$(hca 1)

# probe BDF NAME: its verdicts go to NAME.txt of the results. Emulated WRITEs are slow here.
probe() {
  on_host ../probes/tools/flow_probe/flow-probe -l 0 --no-huge -m 64 --no-shconf -a "$1" -- \
    --device "$1" --quiet-ms 200 >"/host/results/$2.txt"
}

# found NAME TEXT ..: each stands in NAME.txt.
found() {
  found_in=/host/results/$1.txt
  shift
  for text in "$@"; do
    grep -qF -- "$text" "$found_in" || { echo "no \"$text\" in:"; cat "$found_in"; return 1; }
  done
}

check "vfio-pci binds both functions" eval 'bind_to "$seen" vfio-pci && bind_to "$other" vfio-pci'
check "the probes run on a function as the floor document saw it" probe "$seen" seen
check "nic-rx-drop: NIC_RX is bypassed" found seen "NIC_RX is BYPASSED for RoCEv2"
check "rdma-rx-ft: the table is made" found seen "creation SUCCEEDS with table_type 0x07"
check "rdma-rx-catchall-drop: RDMA_RX is in the path" found seen "IS in the active dispatch path"
check "rdma-rx-bth-mismatch: the opcode is compared, the control passes" \
  found seen "a WRITE met silence, one of several packets succeeded" "DROP all work"
check "the probes run on a function that answers otherwise" probe "$other" other
check "nic-rx-drop: NIC_RX is in the path" found other "NIC_RX is in the path of RoCEv2"
check "rdma-rx-catchall-drop: RDMA_RX is not in the path" found other "NOT in the active dispatch"
check "rdma-rx-bth-mismatch: the opcode is not parsed" found other "bth_opcode is NOT parsed"
check "what differs from that firmware is said so" found other "(NOT as on firmware 16.35.4506)"
