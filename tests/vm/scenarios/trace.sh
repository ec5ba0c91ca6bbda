# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: Linux brings one function up and down, our driver the other.

linux=$(hca 0)
ours=$(hca 1)
echo vfio-pci >"/sys/bus/pci/devices/$ours/driver_override"  # so that mlx5_core leaves it alone
modprobe mlx5_core
check "mlx5_core binds one" bound_to "$linux" mlx5_core
check "mlx5_core gives it back" unbind "$linux"
modprobe -a vfio_iommu_type1 vfio-pci
check "vfio-pci binds the other" bind_to "$ours" vfio-pci
check "our driver comes up and goes down" on_host env PORTCULLIS_DEVICE="$ours" \
  PORTCULLIS_EAL="-l 0 --no-huge -m 64 --no-shconf -a $ours" \
  tests/device/device_test --gtest_brief=1 --gtest_filter='*BroughtUp*'
