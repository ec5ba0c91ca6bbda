# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: two drivers whose memory the model reaches by messages alone.
linux=$(hca 0)
ours=$(hca 1)
echo vfio-pci >"/sys/bus/pci/devices/$ours/driver_override"  # so that mlx5_core leaves it alone

mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
check "mlx5_core binds one" bound_to "$linux" mlx5_core
check "it answers a QUERY_EQ" answers "$linux"
modprobe -a vfio_iommu_type1 vfio-pci
check "vfio-pci binds the other" bind_to "$ours" vfio-pci
# Without the one that makes more regions than DPDK maps: by messages it takes a minute.
limit_s=900
check "our driver's tests" on_host env PORTCULLIS_DEVICE="$ours" \
  PORTCULLIS_EAL="-l 0 --no-huge -m 64 --no-shconf -a $ours" \
  tests/device/device_test --gtest_brief=1 --gtest_filter='-*MoreRegions*'
check "mlx5_core still answers" answers "$linux"
check "mlx5_core gives it back" unbind "$linux"
check "and binds it again" bind_to "$linux" mlx5_core
check "unbinds again" unbind "$linux"
