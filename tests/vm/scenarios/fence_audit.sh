# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: leases under WRITEs and READs are fenced by seven plans, and memory is watched.
modprobe -a vfio_iommu_type1 vfio-pci
good=$(hca 0)
broken=$(hca 1)

# audit BDF ARGUMENT ..
audit() {
  audited=$1
  shift
  on_host tools/fence_audit/fence-audit -l 0 --no-huge -m 64 --no-shconf -a "$audited" -- \
    "$audited" --timeout 14 --watch-ms 20 "$@"
}

# found BDF ARGUMENT ..: bytes changed or requests executed after an outcome, and it says so.
found() {
  audit "$@"
  test $? -eq 2
}

# no_evidence BDF ARGUMENT ..: nothing was late, and nothing on its way that could have been.
no_evidence() {
  audit "$@"
  test $? -eq 3
}

check "vfio-pci binds both functions" eval 'bind_to "$good" vfio-pci && bind_to "$broken" vfio-pci'
check "four plans hold" audit "$good" --fences 64 --json /results/audit.json
# Whose key goes when nothing is on its way, or whose memory is given back at once. drop-only unmaps
# under DMA that is pending: what comes too late is asked of QEMU and refused.
check "nothing is late under three more" no_evidence "$good" --fences 64 \
  --plan legacy,access-flags,drop-only
check "DESTROY_MKEY that does not drain is found" found "$broken" --fences 64 --plan seed
