# SPDX-License-Identifier: BSD-3-Clause
#
# The IOMMU remaps no interrupts: named once, and its command mends it.
modprobe -a vfio_iommu_type1 vfio-pci
bdf=$(hca 0)
bind_to "$bdf" vfio-pci
check "only interrupt remapping is missing" lacks intremap
check "and the driver says so" says "boot without intremap=off" bench/revoke_bench \
  -l 1 --no-huge -m 64 --no-shconf -a "$bdf" -- --device="$bdf" --quick
echo 1 >/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts
check "nothing is missing once it is allowed to be" lacks
answers=$(echo "$said" | grep -c '^  ok       firmware  *16.* board PORTCULLIS_MODEL')
check "the firmware answers" test "$answers" = 1
