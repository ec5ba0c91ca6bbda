# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: both of Linux's drivers are loaded and unloaded, then the port still works.

# binds TIMES: mlx5_core leaves the function and takes it again, mlx5_ib with it.
binds() {
  bind=0
  while [ $bind -lt "$1" ]; do
    unbind "$bdf" && bind_to "$bdf" mlx5_core && wait_for 20 has_device || return 1
    bind=$((bind + 1))
  done
}

mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
bdf=$(hca 0)
check "mlx5_core binds the function" bound_to "$bdf" mlx5_core
load_mlx5_ib
check "mlx5_ib goes and comes 100 times" loads 100
check "mlx5_core goes and comes 10 times" binds 10
check "its port is ACTIVE again" wait_for 20 is_active
check "ibv_rc_pingpong after that" pair rc_pingpong ibv_rc_pingpong -d $device -n 200
modprobe -r mlx5_ib
check "unbinds" unbind "$bdf"
