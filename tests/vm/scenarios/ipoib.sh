# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: opensm numbers the ports, the kernel's ib_ipoib makes interfaces of them.

meets() { on_host ping -q -c 3 -I 192.0.2.1 "$@" 192.0.2.2; }

# in_mode MODE MTU: both interfaces in the datagram mode, or in the connected one.
in_mode() {
  for interface in ib0 ib1; do
    echo "$1" >/sys/class/net/$interface/mode || return 1
    on_host ip link set $interface mtu "$2" || return 1
  done
}

# streams NAME: TCP for three seconds from the first one to the second.
streams() {
  served "iperf_$1" iperf3 -s -1 -B 192.0.2.2 -- \
    iperf3 -c 192.0.2.2 -B 192.0.2.1 -t 3
}

limit_s=120
modprobe mlx5_core
modprobe mlx5_ib
modprobe ib_uverbs
modprobe ib_umad
check "mlx5_ib registers $device" wait_for 20 has_device
check "mlx5_ib registers $other" wait_for 20 has_other
runs_opensm
check "opensm makes $device ACTIVE" wait_for 120 is_active
check "opensm makes $other ACTIVE" wait_for 120 other_is_active
modprobe ib_ipoib
check "an interface of $device" ip_over_ib ib0 192.0.2.1
check "an interface of $other" ip_over_ib ib1 192.0.2.2
check "the way between them" by_their_wire ib0 ib1
check "ping" meets
check "ping of 1,900 bytes" meets -s 1900
check "TCP" streams datagram
modprobe rdma_ucm
check "rping" served rping rping -s -a 192.0.2.2 -C 20 -v -V -- \
  rping -c -I 192.0.2.1 -a 192.0.2.2 -C 20 -v -V
check "ucmatose" served ucmatose ucmatose -b 192.0.2.2 -C 20 -- \
  ucmatose -b 192.0.2.1 -s 192.0.2.2 -C 20
check "udaddy" served udaddy udaddy -b 192.0.2.2 -C 20 -- udaddy -b 192.0.2.1 -s 192.0.2.2 -C 20
check "mckey: a group of UD queue pairs" served mckey mckey -m 239.1.2.3 -b 192.0.2.2 -C 20 -- \
  mckey -s -m 239.1.2.3 -b 192.0.2.1 -C 20
check "connected mode" in_mode connected 32000
check "ping of 30,000 bytes in it" meets -s 30000
check "TCP in it" streams connected
check "datagram mode again" in_mode datagram 2044
check "ping in it" meets
on_host saquery -C $device -g >/host/results/groups.txt 2>&1
check "ib_ipoib goes" rmmod rdma_ucm ib_ipoib
kill $opensm
wait $opensm
check "unbinds" unbind "$(hca 0)"
check "the other unbinds" unbind "$(hca 1)"
