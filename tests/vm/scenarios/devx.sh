# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: mlx5_ib binds, and a program of ours has its objects on it by DevX, on a port of
# $port_type.

program="$BUILD/tests/devx/devx-loopback"

# loopback NAME COMMAND ..
loopback() {
  said_in=/host/results/$1.txt
  shift
  on_host "$@" >"$said_in" 2>&1 </dev/null && return
  tail -n 5 "$said_in"
  return 1
}

# The function touches memory with the key check, so nothing is on its way when a key goes: "no
# evidence" is what is to be said, and that nothing was late.
nothing_was_late() {
  loopback fence_audit tools/fence_audit/fence-audit $device --fences 64
  grep -Eq "^verdict: (the fence held|no evidence: nothing was late)" /host/results/fence_audit.txt
}

limit_s=300
mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
bdf=$(hca 0)
check "mlx5_core binds the function" bound_to "$bdf" mlx5_core
check "its port comes up" comes_up 0
load_mlx5_ib
check "devx-loopback" loopback devx_loopback "$program" $device
check "devx-loopback without CAP_NET_RAW" \
  loopback devx_loopback_no_raw setpriv --bounding-set=-net_raw "$program" $device 100
check "an RDMA device that is not there" \
  says "the kernel has the RDMA devices $device" tools/fence_audit/fence-audit mlx5_9
check "doctor" loopback doctor tools/doctor/doctor $device
check "command_bench" loopback command_bench bench/command_bench -- --device=$device --quick \
  "--benchmark_filter=2ERR_QP|DESTROY_MKEY|QUERY_ISSI" \
  --out-dir=/host/results/command_bench
check "revoke_bench" loopback revoke_bench bench/revoke_bench -- --device=$device --quick \
  --benchmark_filter=leases:1/ --out-dir=/host/results/revoke_bench
check "fence-audit" nothing_was_late
check "ibv_rc_pingpong beside it" \
  pair rc_pingpong ibv_rc_pingpong -d $device -g 0 -n 200
check "the firmware answers after it" answers "$bdf"
rmmod mlx5_ib
check "unbinds" unbind "$bdf"
