# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: mlx5_ib on an Ethernet port and on an InfiniBand port.

# drop NAME ..: devx-drop does as it says.
drop() {
  dropped=$1
  shift
  on_host "$@" >"/host/results/$dropped.txt" 2>&1 </dev/null && return
  tail -n 5 "/host/results/$dropped.txt"
  return 1
}

# The owner of an entry is killed under it.
is_killed() {
  : >/host/results/killed.txt
  drop killed tests/devx/devx-drop $device hold >/dev/null &
  wait_for 120 grep -q "^holding" /host/results/killed.txt || return
  on_host pkill -KILL -x devx-drop
  ! wait $!
}

# Plans whose entry stands from the grant on. As in scenario devx nothing is on its way when a key
# goes, so "no evidence" is what is to be said, and that nothing was late.
nothing_was_late() {
  on_host tools/fence_audit/fence-audit $device --fences 8 --leases 1 \
    --plan allow-modify,allow-replace >/host/results/fence_audit.txt 2>&1
  grep -Eq "^verdict: (the fence held|no evidence: nothing was late)" \
    /host/results/fence_audit.txt && return
  tail -n 5 /host/results/fence_audit.txt
  return 1
}

limit_s=300
mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
bdf=$(hca 0)
check "an interface" interface 0 hca0 192.0.2.1
load_mlx5_ib
check "mlx5_ib registers $other" wait_for 20 has_other
check "devx-drop" drop drop tests/devx/devx-drop $device
check "devx-drop without CAP_NET_RAW" says "takes CAP_NET_RAW" \
  setpriv --bounding-set=-net_raw tests/devx/devx-drop $device
check "a plan with entries without CAP_NET_RAW" says "takes CAP_NET_RAW" \
  setpriv --bounding-set=-net_raw tools/fence_audit/fence-audit $device --plan allow-modify
check "devx-drop is killed under its entry" is_killed
check "devx-drop after that" drop drop_again tests/devx/devx-drop $device
check "fence-audit of plans with entries" nothing_was_late
check "an underlay is refused" says "the kernel driver that keeps this NIC" \
  tools/fence_audit/fence-audit $other --plan underlay
# mlx5_cmd_update_root_ft of mlx5/core/fs_cmd.c sends no root on such a port.
check "on an InfiniBand port no rule is met" says "under the entry: IBV_WC_SUCCESS" \
  tests/devx/devx-drop $other
check "the firmware answers after it" answers "$bdf"
check "mlx5_ib goes" rmmod mlx5_ib
