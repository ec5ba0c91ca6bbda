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
# Linux begins with loopback switched off, and switches it on for this alone.
self_test() {
  in_ns one ethtool -t hca >/host/results/self_test.txt
  self_status=$?
  grep -q "Loopback Test.*[^0-9]0$" /host/results/self_test.txt && test $self_status -eq 0 && return
  cat /host/results/self_test.txt
  return 1
}
set_mtu() {
  in_ns one ip link set hca mtu "$1" && in_ns two ip link set hca mtu "$1"
}

# vlan NAMESPACE NUMBER ID: a device of that VLAN there, and an address in it.
vlan() {
  in_ns "$1" ip link add link hca name "hca.$3" type vlan id "$3" &&
    in_ns "$1" ip link set "hca.$3" up && in_ns "$1" ip addr add "198.51.$3.$2/24" dev "hca.$3"
}
tag_by_device() {
  in_ns one ethtool -K hca rxvlan "$1" txvlan "$1" &&
    in_ns two ethtool -K hca rxvlan "$1" txvlan "$1"
}
tags_are() {
  in_ns one ethtool -k hca | grep -q "^rx-vlan-offload: $1" &&
    in_ns two ethtool -k hca | grep -q "^tx-vlan-offload: $1"
}

# streams NAME ARGUMENT ..: TCP for a while from one to two, or as the arguments say; what iperf3
# counted goes to the results.
streams() {
  stream=$1
  shift
  limit_s=120 in_ns two iperf3 -s -1 >/host/results/iperf_server.txt 2>&1 &
  wait_for 30 iperf_listens
  limit_s=120 in_ns one iperf3 -c 192.0.2.2 -t 3 -J "$@" >"/host/results/iperf_$stream.json"
  stream_status=$?
  wait $!
  return $stream_status
}
iperf_listens() { in_ns two ss -ltn | grep -q :5201; }

# carries_a_megabyte: from one to two by TCP, and it is the same there. Neither ping nor iperf3
# looks at what came, nor does TCP where the device has summed it.
carries_a_megabyte() {
  in_ns two python3 -c '
import hashlib, socket
peer, _ = socket.create_server(("192.0.2.2", 5202)).accept()
print(hashlib.sha256(b"".join(iter(lambda: peer.recv(65536), b""))).hexdigest())' \
    >/host/results/received.txt &
  wait_for 30 listens_for_a_megabyte
  in_ns one python3 -c '
import hashlib, random, socket
sent = random.Random(1).randbytes(1 << 20)
socket.create_connection(("192.0.2.2", 5202)).sendall(sent)
print(hashlib.sha256(sent).hexdigest())' >/host/results/sent.txt
  wait $!
  cmp /host/results/sent.txt /host/results/received.txt
}
listens_for_a_megabyte() { in_ns two ss -ltn | grep -q :5202; }

# rate MBIT: of each send queue of one; 0 is none.
rate() {
  in_ns one sh -c "for queue in /sys/class/net/hca/queues/tx-*; do
                     echo $1 >\$queue/tx_maxrate || exit 1; done"
}

# compress WORD: completions of what comes, at both ends.
compress() {
  in_ns one ethtool --set-priv-flags hca rx_cqe_compress "$1" &&
    in_ns two ethtool --set-priv-flags hca rx_cqe_compress "$1"
}

# count_frames WHEN: what both have counted by then.
count_frames() {
  in_ns one ethtool -S hca >"/host/results/ethtool_one_$1.txt"
  in_ns two ethtool -S hca >"/host/results/ethtool_two_$1.txt"
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
check "what TCP carries in them" carries_a_megabyte
check "MTU 1500 again" set_mtu 1500
check "ping after that" pings two 192.0.2.1
modprobe 8021q
check "a VLAN at one end" vlan one 1 7
check "and at the other" vlan two 2 7
check "tags by the device" tags_are on
check "ping in the VLAN" pings one 198.51.7.2
check "full frames in the VLAN" pings two -s 1472 -M do 198.51.7.1
check "tags by the kernel" tag_by_device off
check "no tags by the device" tags_are off
check "ping in the VLAN with the kernel's tags" pings one 198.51.7.2
check "full frames with the kernel's tags" pings two -s 1472 -M do 198.51.7.1
check "tags by the device again" tag_by_device on
count_frames before
check "TCP" streams one_two
check "TCP, the other way" streams two_one -R
check "8 Mbit/s for each send queue" rate 8
check "TCP at that rate" streams paced
check "no rate" rate 0
check "a ping after that" pings one 192.0.2.2
check "compressed completions" compress on
check "ping with them" pings one 192.0.2.2
check "TCP with them" streams compressed
check "TCP with them, the other way" streams compressed_back -R
count_frames compressed
check "whole completions" compress off
check "a ping after those" pings two 192.0.2.1
bdf=$(hca 0)
check "the driver's own counters" in_ns one ethtool -S hca
count_frames after
check "link settings" in_ns one ethtool hca
check "the driver's self-test, a frame to itself among it" self_test
check "unbinds" unbind "$bdf"
check "binds again" bind_to "$bdf" mlx5_core
check "a netdev again" wait_for 60 has_netdev "$bdf"
check "unbinds again" unbind "$bdf"
check "the other unbinds" unbind "$(hca 1)"
