# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: one function, in turns by rdma-core's VFIO provider and by our driver, and one
# that Linux's mlx5_ib keeps, by our driver through DevX and by verbs. Each turn takes many samples,
# so that an emulated CPU has compiled what it runs before the median.

samples=200

theirs() {
  on_host tools/vfio_peer/vfio-peer --device "$bdf" --latency --samples $samples \
    >"/host/results/theirs$1.json"
}
ours() {
  mkdir -p "/host/results/ours$1"
  on_host bench/command_bench -l 0 --no-huge -m 64 --no-shconf -a "$bdf" -- \
    --device="$bdf" --peer=loopback --samples=$samples --out-dir="/results/ours$1" \
    --benchmark_filter='register_read|2ERR|DESTROY_MKEY|QUERY_ISSI' >/dev/null
}
devx() {
  mkdir -p "/host/results/devx$1"
  on_host bench/command_bench -l 0 --no-huge -m 64 --no-shconf --no-pci -- \
    --device="$device" --peer=loopback --samples=$samples --out-dir="/results/devx$1" \
    --benchmark_filter='2ERR|DESTROY_MKEY|QUERY_ISSI' >/dev/null
}
verbs() {
  on_host tests/devx/verbs-times "$device" $samples >"/host/results/verbs$1.json"
}

modprobe -a vfio_iommu_type1 vfio-pci mlx5_core
bdf=$(hca 0)
bind_to "$bdf" vfio-pci
load_mlx5_ib
for turn in 1 2 3 4 5; do
  check "turn $turn of rdma-core's provider" theirs $turn
  check "turn $turn of our driver" ours $turn
  check "turn $turn of our driver by DevX" devx $turn
  check "turn $turn of verbs" verbs $turn
done
