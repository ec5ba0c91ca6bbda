# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: opensm numbers the ports, the kernel's ib_ipoib makes interfaces of them.

# in_mode MODE MTU: both interfaces in the datagram mode, or in the connected one.
in_mode() {
  for interface in ib0 ib1; do
    echo "$1" >/sys/class/net/$interface/mode || return 1
    on_host ip link set $interface mtu "$2" || return 1
  done
}

limit_s=120
starts_over_ib
check "ping" meets_over_ib
check "ping of 1,900 bytes" meets_over_ib -s 1900
check "TCP" tcp_over_ib datagram
modprobe rdma_ucm
check "rping" served rping rping -s -a 192.0.2.2 -C 20 -v -V -- \
  rping -c -I 192.0.2.1 -a 192.0.2.2 -C 20 -v -V
check "ucmatose" served ucmatose ucmatose -b 192.0.2.2 -C 20 -- \
  ucmatose -b 192.0.2.1 -s 192.0.2.2 -C 20
check "udaddy" served udaddy udaddy -b 192.0.2.2 -C 20 -- udaddy -b 192.0.2.1 -s 192.0.2.2 -C 20
check "rdma_xserver" served xserver rdma_xserver -- rdma_xclient -s 192.0.2.2
check "rdma_xserver by XRC" served xserver_xrc rdma_xserver -c x -- rdma_xclient -s 192.0.2.2 -c x
check "mckey: a group of UD queue pairs" served mckey mckey -m 239.1.2.3 -b 192.0.2.2 -C 20 -- \
  mckey -s -m 239.1.2.3 -b 192.0.2.1 -C 20
check "connected mode" in_mode connected 32000
check "ping of 30,000 bytes in it" meets_over_ib -s 30000
check "TCP in it" tcp_over_ib connected
check "datagram mode again" in_mode datagram 2044
check "ping in it" meets_over_ib
on_host saquery -C $device -g >/host/results/groups.txt 2>&1
ends_over_ib rdma_ucm
