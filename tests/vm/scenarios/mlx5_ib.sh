# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: mlx5_ib binds, user programs that nobody here wrote talk over it.

rounds=200

limit_s=120
mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
bdf=$(hca 0)
check "mlx5_core binds the function" bound_to "$bdf" mlx5_core
load_mlx5_ib
on_host ibv_devinfo -v -d $device >/host/results/devinfo.txt 2>&1
check "ibv_rc_pingpong by LID" pair rc_pingpong ibv_rc_pingpong -d $device -n $rounds
check "ibv_rc_pingpong by GID" pair rc_pingpong_gid ibv_rc_pingpong -d $device -g 0 -n $rounds
check "ibv_rc_pingpong with events" pair rc_pingpong_events ibv_rc_pingpong -d $device -e -n $rounds
check "ibv_srq_pingpong" pair srq_pingpong ibv_srq_pingpong -d $device -n $rounds
# -F: an emulated processor keeps no steady frequency, by which perftest counts.
for tool in ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat \
  ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw; do
  check "$tool" pair $tool $tool -F -d $device -n $rounds
done
check "ib_send_bw with a shared receive queue" \
  pair send_bw_srq ib_send_bw -F -d $device -n $rounds -q 4 -r 64 --use-srq
check "mlx5_ib goes and comes 3 times" loads 3
check "its port is ACTIVE again" wait_for 20 is_active
check "ibv_rc_pingpong after that" pair rc_pingpong_again ibv_rc_pingpong -d $device -n $rounds
rmmod mlx5_ib
check "unbinds" unbind "$bdf"
