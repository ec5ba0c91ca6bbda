# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: both of Linux's drivers are loaded and unloaded, on a port of $port_type, then
# the port still works.

their_mac=02:50:43:00:00:02

# binds TIMES: mlx5_core leaves the function and takes it again, mlx5_ib with it.
binds() {
  bind=0
  while [ $bind -lt "$1" ]; do
    unbind "$bdf" && bind_to "$bdf" mlx5_core && wait_for 20 has_device || return 1
    bind=$((bind + 1))
  done
}

# with_interface TIMES: both drivers go, and come with the interface and the device. One round has
# the queues of the interface made, and the GID of its address.
addressed() { ifconfig "$(netdev_of "$bdf")" 192.0.2.1 netmask 255.255.255.0 up; }
with_interface() {
  round=0
  while [ $round -lt "$1" ]; do
    rmmod mlx5_ib mlx5_core && ! has_netdev "$bdf" && has_no_device || return 1
    modprobe -a mlx5_core mlx5_ib && wait_for 60 has_netdev "$bdf" && addressed &&
      wait_for 20 gid_index $device c000:0201 >/dev/null || return 1
    round=$((round + 1))
  done
}
# At the other end of the wire is the NIC, in a namespace of its own.
has_peer() {
  nic=$(nic_of $their_mac)
  on_host ip netns add peer && on_host ip link set "$nic" netns peer &&
    on_host ip -n peer link set "$nic" up && on_host ip -n peer addr add 192.0.2.2/24 dev "$nic"
}
meets_peer() { on_host ping -q -c 3 192.0.2.2 >/host/results/ping.txt 2>&1; }

starts_ib() { :; }
loads_ib() {
  for times in 10 20 30 40 50 60 70 80 90 100; do
    check "mlx5_ib goes and comes, $times" loads 10
  done
  check "mlx5_core goes and comes 10 times" binds 10
}
starts_eth() {
  modprobe virtio_net
  check "an interface" wait_for 60 has_netdev "$bdf"
  check "its address" addressed
  check "the other end of the wire" has_peer
}
loads_eth() {
  check "ping" meets_peer
  for times in 10 20 30 40 50 60 70 80 90 100; do
    check "mlx5_core and mlx5_ib go and come, $times" with_interface 10
    check "ping after that" meets_peer
  done
}

mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
bdf=$(hca 0)
check "mlx5_core binds the function" bound_to "$bdf" mlx5_core
"starts_$port_type"
load_mlx5_ib
"loads_$port_type"
check "its port is ACTIVE again" wait_for 20 is_active
check "ibv_rc_pingpong after that" pair rc_pingpong ibv_rc_pingpong -d $device -g 0 -n 200
rmmod mlx5_ib
check "unbinds" unbind "$bdf"
