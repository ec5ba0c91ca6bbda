# SPDX-License-Identifier: BSD-3-Clause
#
# The IOMMU is off: named once, and the rest waits for it.
modprobe -a vfio_iommu_type1 vfio-pci
bdf=$(hca 0)
check "only the IOMMU is missing" lacks iommu
check "the word that switched it off is named" \
  test "$(echo "$said" | grep -c 'booted with intel_iommu=off')" = 1
check "and the driver says so" says "no IOMMU group; switch the IOMMU on" bench/revoke_bench \
  -l 1 --no-huge -m 64 --no-shconf -a "$bdf" -- --device="$bdf" --quick
