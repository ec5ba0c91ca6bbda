# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: Linux binds, lives, unbinds.
#
# Two polls of mlx5_core's health timer lie in every 4 s (MLX5_HEALTH_POLL_INTERVAL, health.c), and
# three that find the counter unchanged are an error line.
healthy_for() {
  sleep "$1"
  ! dmesg | grep -q "mlx5_core.*\(health compromised\|Fatal error\|synd 0x\)"
}

pages_held() { cat /sys/kernel/debug/mlx5/"$bdf"/pages/fw_pages_total; }

mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
bdf=$(hca 0)
check "mlx5_core binds the function" bound_to "$bdf" mlx5_core
check "it holds pages" test "$(pages_held)" -gt 0
check "it answers a QUERY_EQ" answers "$bdf"
check "healthy for 60 s" healthy_for 60
check "it still answers a QUERY_EQ" answers "$bdf"
check "unbinds" unbind "$bdf"
check "binds again" bind_to "$bdf" mlx5_core
check "answers after the second bind" answers "$bdf"
check "healthy for 5 s more" healthy_for 5
check "unbinds again" unbind "$bdf"
