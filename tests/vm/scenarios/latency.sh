# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: one function, in turns by rdma-core's VFIO provider and by our driver, and one
# that Linux's mlx5_ib keeps, by our driver through DevX and by verbs. Each turn takes many samples,
# so that an emulated CPU has compiled what it runs before the median. Then whole revokes, once,
# beside ibv_dereg_mr in a loop.

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
# Whole revokes of so many leases, one call each and one call for all: 20 rounds, of many leases 3.
revokes() {
  mkdir -p "/host/results/revokes_$1"
  on_host bench/revoke_bench -l 0 --no-huge -m 64 --no-shconf $2 -- \
    --device="$3" --peer=loopback --plan=seed --samples=20 --out-dir="/results/revokes_$1" \
    --benchmark_filter='plan:seed/leases:(1|64|1024)/mode:.*/load:none' >/dev/null
}
verbs_revokes() {
  on_host tests/devx/verbs-times "$device" 20 1 >/host/results/verbs_revoke_1.json &&
    on_host tests/devx/verbs-times "$device" 20 64 >/host/results/verbs_revoke_64.json &&
    on_host tests/devx/verbs-times "$device" 3 1024 >/host/results/verbs_revoke_1024.json
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
limit_s=1800  # a grant by DevX takes many system calls
check "revokes" revokes ours "-a $bdf" "$bdf"
check "revokes by DevX" revokes devx --no-pci "$device"
check "ibv_dereg_mr in a loop" verbs_revokes
