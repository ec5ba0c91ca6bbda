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

# Interfaces of the other partition, on the same ports.
in_partition() {
  on_host ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001 &&
    on_host ip link add link ib1 name ib1.8001 type ipoib pkey 0x8001 &&
    on_host ip addr add 198.51.100.1/24 dev ib0.8001 &&
    on_host ip addr add 198.51.100.2/24 dev ib1.8001 &&
    on_host ip link set ib0.8001 up && on_host ip link set ib1.8001 up &&
    wait_for 60 is_running ib0.8001 && wait_for 60 is_running ib1.8001 &&
    across 198.51.100.1 ib0.8001 198.51.100.2 103 && across 198.51.100.2 ib1.8001 198.51.100.1 104
}
meets_in_partition() { on_host ping -q -c 3 -I 198.51.100.1 198.51.100.2; }
# A queue pair of the default partition is asked by one of the other.
violations_of() {
  on_host smpquery -C "$1" -D portinfo 0 1 >"/host/results/violations.txt" 2>&1
  sed -n 's/^PkeyViolations:\.*\([0-9]*\)$/\1/p' /host/results/violations.txt
}
is_kept_out_and_counted() {
  counted=$(violations_of $other)
  served write_bw_no_pkey timeout 60 ib_write_bw -F -n 200 -d $other -- \
    timeout 60 ib_write_bw -F -n 200 --pkey_index 1 -d $device 127.0.0.1 >/host/results/kept_out.txt
  grep -q "status 12" /host/results/write_bw_no_pkey.client.txt || return 1
  test "$(violations_of $other)" -gt "$counted" &&
    on_host ibv_devinfo -v -d $other | grep -q "bad_pkey_cntr:.*0x[0-9a-f]*[1-9a-f]"
}
leave_partition() { on_host ip link del ib0.8001 && on_host ip link del ib1.8001; }

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
check "interfaces of another partition" in_partition
check "ping in the partition" meets_in_partition
check "ib_write_bw with its key" served write_bw_pkey \
  ib_write_bw -F -n 200 --pkey_index 1 -d $other -- \
  ib_write_bw -F -n 200 --pkey_index 1 -d $device 127.0.0.1
check "who has the key of another is not heard, and counted" is_kept_out_and_counted
check "they go" leave_partition
check "connected mode" in_mode connected 32000
check "ping of 30,000 bytes in it" meets_over_ib -s 30000
check "TCP in it" tcp_over_ib connected
check "datagram mode again" in_mode datagram 2044
check "ping in it" meets_over_ib
on_host saquery -C $device -g >/host/results/groups.txt 2>&1
ends_over_ib rdma_ucm
