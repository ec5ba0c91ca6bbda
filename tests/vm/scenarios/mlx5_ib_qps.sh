# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: mlx5_ib binds, user programs that nobody here wrote talk over it by services
# other than RC.

rounds=200
limit_s=120
mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
bdf=$(hca 0)
check "mlx5_core binds the function" bound_to "$bdf" mlx5_core
load_mlx5_ib

check "ibv_uc_pingpong by LID" pair uc_pingpong ibv_uc_pingpong -d $device -n $rounds
check "ibv_uc_pingpong by GID" pair uc_pingpong_gid ibv_uc_pingpong -d $device -g 0 -n $rounds
check "ibv_uc_pingpong with events" pair uc_pingpong_events ibv_uc_pingpong -d $device -e -n $rounds
# -F: an emulated processor keeps no steady frequency, by which perftest counts.
for tool in ib_write_lat ib_send_lat ib_write_bw ib_send_bw; do
  check "$tool of UC" pair ${tool}_uc $tool -F -c UC -d $device -n $rounds
done
check "ibv_ud_pingpong by LID" pair ud_pingpong ibv_ud_pingpong -d $device -n $rounds
check "ibv_ud_pingpong by GID" pair ud_pingpong_gid ibv_ud_pingpong -d $device -g 0 -n $rounds
check "ibv_ud_pingpong with events" pair ud_pingpong_events ibv_ud_pingpong -d $device -e -n $rounds
for tool in ib_send_lat ib_send_bw; do
  check "$tool of UD" pair ${tool}_ud $tool -F -c UD -d $device -n $rounds
done
check "ib_send_bw of UD by GID" pair send_bw_ud_gid ib_send_bw -F -c UD -x 0 -d $device -n $rounds
check "ibv_xsrq_pingpong" pair xsrq_pingpong ibv_xsrq_pingpong -d $device -n $rounds
check "ibv_xsrq_pingpong with events" \
  pair xsrq_pingpong_events ibv_xsrq_pingpong -d $device -e -n $rounds
for tool in ib_write_lat ib_send_lat ib_read_lat ib_write_bw ib_send_bw ib_atomic_bw; do
  check "$tool of XRC" pair ${tool}_xrc $tool -F -c XRC -d $device -n $rounds
done

rmmod mlx5_ib
check "unbinds" unbind "$bdf"
