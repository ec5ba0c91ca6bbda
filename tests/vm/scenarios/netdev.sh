# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: Linux's mlx5 netdev on two functions with one wire between them, each in a
# network namespace of its own.

# in_ns NAME COMMAND ..: of the host's tools.
in_ns() {
  ns=$1
  shift
  on_host ip netns exec "$ns" "$@"
}
netdev_of() { basename "$(ls -d "/sys/bus/pci/devices/$1"/net/*)"; }
has_netdev() { ls -d "/sys/bus/pci/devices/$1"/net/* >/dev/null 2>&1; }

# place INDEX NAMESPACE NUMBER: the netdev of a function goes there, with two addresses.
place() {
  bdf=$(hca "$1")
  check "$2: mlx5_core makes a netdev" wait_for 60 has_netdev "$bdf"
  dev=$(netdev_of "$bdf")
  on_host ip netns add "$2"
  check "$2: its netdev goes there as hca" on_host ip link set "$dev" netns "$2" name hca
  in_ns "$2" ip link set lo up
  check "$2: it comes up" in_ns "$2" ip link set hca up
  check "$2: it has a carrier" wait_for 30 has_carrier "$2"
  in_ns "$2" ip addr add "192.0.2.$3/24" dev hca
  in_ns "$2" ip -6 addr add "2001:db8::$3/64" dev hca nodad
}
has_carrier() { in_ns "$1" ip link show hca | grep -q LOWER_UP; }

# pings NAMESPACE ARGUMENT ..: none is lost.
pings() {
  pinged=$1
  shift
  in_ns "$pinged" ping -q -c 10 -i 0.2 -W 10 "$@" >/host/results/ping.txt 2>&1
  ping_status=$?
  grep -q ' 0% packet loss' /host/results/ping.txt && test $ping_status -eq 0 && return
  cat /host/results/ping.txt
  return 1
}
neighbour_is_known() { in_ns one ip neigh show 192.0.2.2 | grep -q 02:50:43:00:00:02; }
set_mtu() {
  in_ns one ip link set hca mtu "$1" && in_ns two ip link set hca mtu "$1"
}

mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
place 0 one 1
place 1 two 2
check "ping over IPv4, address resolution first" pings one 192.0.2.2
check "the neighbour was resolved" neighbour_is_known
check "ping over IPv6" pings two 2001:db8::1
check "full frames at MTU 1500" pings one -s 1472 -M do 192.0.2.2
check "fragments" pings one -s 5000 192.0.2.2
check "MTU 9000" set_mtu 9000
check "full frames at MTU 9000" pings one -s 8972 -M do 192.0.2.2
check "MTU 1500 again" set_mtu 1500
check "ping after that" pings two 192.0.2.1
bdf=$(hca 0)
check "the driver's own counters" in_ns one ethtool -S hca
in_ns one ethtool -S hca >/host/results/ethtool_one.txt
in_ns two ethtool -S hca >/host/results/ethtool_two.txt
check "link settings" in_ns one ethtool hca
check "unbinds" unbind "$bdf"
check "binds again" bind_to "$bdf" mlx5_core
check "a netdev again" wait_for 60 has_netdev "$bdf"
check "unbinds again" unbind "$bdf"
check "the other unbinds" unbind "$(hca 1)"
