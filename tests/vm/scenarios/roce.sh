# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: mlx5_ib on two Ethernet ports of one wire. One port serves, the other asks.

rounds=200

# tool NAME COMMAND ..: of rdma-core's examples and perftest, which meet by TCP over lo.
tool() {
  tool_name=$1
  shift
  served "$tool_name" "$@" -d $other -- "$@" -d $device 127.0.0.1
}

# by_cm NAME COMMAND ..: of perftest, the connection made by the RDMA CM.
by_cm() {
  tool_name=$1
  shift
  served "$tool_name" "$@" -R -d $other -- "$@" -R -d $device --source_ip 192.0.2.1 192.0.2.2
}

# As in scenario devx: nothing is on its way when a key goes, for this device checks keys as it
# touches memory.
nothing_was_late() {
  on_host tools/fence_audit/fence-audit $device --fences 64 >/host/results/fence_audit.txt 2>&1
  grep -Eq "^verdict: (the fence held|no evidence: nothing was late)" /host/results/fence_audit.txt
}
by_devx() {
  on_host tests/devx/devx-loopback "$1" >"/host/results/devx_$1.txt" 2>&1
  grep -q "^after DESTROY_MKEY: " "/host/results/devx_$1.txt" && return
  tail -n 5 "/host/results/devx_$1.txt"
  return 1
}

# VLAN 5 on both ports, with addresses of its own.
on_vlan() {
  for port in 0 1; do
    on_host ip link add link hca$port name hca$port.5 type vlan id 5 &&
      on_host ip link set hca$port.5 up &&
      on_host ip addr add 198.51.5.$((port + 1))/24 dev hca$port.5 || return 1
  done
  across 198.51.5.1 hca0.5 198.51.5.2 103 && across 198.51.5.2 hca1.5 198.51.5.1 104
}

# wrong_icrcs NUMBER: so many packets with a wrong ICRC mlx5_ib says of the other port. Its counter
# is there where PCAM names it.
wrong_icrcs() {
  test "$(cat /sys/class/infiniband/$other/ports/1/hw_counters/rx_icrc_encapsulated)" = "$1"
}
sends_no_icrc() {
  on_host python3 -c '
import socket
port = socket.socket(type=socket.SOCK_DGRAM)
port.bind(("192.0.2.1", 0))
port.sendto(bytes(64), ("192.0.2.2", 4791))'
}

# has_counted COUNTER ..: each is more than 0.
has_counted() {
  for counter; do
    test "$(cat /sys/class/infiniband/$device/ports/1/counters/$counter)" -gt 0 || return 1
  done
}
# Linux counts both by entries of its own: what came with the mark of congestion in RDMA_RX, the
# notifications that went out in RDMA_TX, of which this device sends none.
congestion="cc_rx_ce_pkts,cc_tx_cnp_pkts"
counts_congestion() {
  on_host rdma statistic set link $1/1 optional-counters $congestion
}
# congestion_is DEVICE PATTERN
congestion_is() {
  on_host rdma statistic show link $1/1 >/host/results/congestion_$1.txt &&
    grep -Eq "cc_rx_ce_pkts $2 cc_tx_cnp_pkts 0( |$)" /host/results/congestion_$1.txt
}

limit_s=120
mount -t debugfs debugfs /sys/kernel/debug
modprobe -a mlx5_core 8021q
check "two interfaces" two_interfaces
check "ping" on_host ping -q -c 3 -I 192.0.2.1 192.0.2.2
load_mlx5_ib
check "the other port is ACTIVE" wait_for 20 other_is_active
modprobe rdma_ucm
on_host ibv_devinfo -v >/host/results/devinfo.txt 2>&1
for service in rc uc ud srq; do
  check "ibv_${service}_pingpong by IPv4" \
    tool ${service}_pingpong ibv_${service}_pingpong -g 1 -n $rounds
done
check "ibv_rc_pingpong by the link-local GID, with events" \
  tool rc_pingpong_local ibv_rc_pingpong -g 0 -e -n $rounds
check "rping" served rping rping -s -a 192.0.2.2 -C 20 -v -V -- \
  rping -c -I 192.0.2.1 -a 192.0.2.2 -C 20 -v -V
check "ucmatose" served ucmatose ucmatose -b 192.0.2.2 -C 20 -- \
  ucmatose -b 192.0.2.1 -s 192.0.2.2 -C 20
check "udaddy" served udaddy udaddy -b 192.0.2.2 -C 20 -- udaddy -b 192.0.2.1 -s 192.0.2.2 -C 20
check "rdma_xserver" served xserver rdma_xserver -- rdma_xclient -s 192.0.2.2
check "rdma_xserver by XRC" served xserver_xrc rdma_xserver -c x -- rdma_xclient -s 192.0.2.2 -c x
check "a VLAN" on_vlan
check "ping on it" on_host ping -q -c 3 -I 198.51.5.1 198.51.5.2
check "rping on it" served rping_vlan rping -s -a 198.51.5.2 -C 20 -v -V -- \
  rping -c -I 198.51.5.1 -a 198.51.5.2 -C 20 -v -V
check "udaddy on it" served udaddy_vlan udaddy -b 198.51.5.2 -C 20 -- \
  udaddy -b 198.51.5.1 -s 198.51.5.2 -C 20
# -F: an emulated processor keeps no steady frequency, by which perftest counts.
for name in ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat \
  ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw; do
  check "$name" tool $name $name -F -x 1 -n $rounds
done
check "ib_send_bw of UD" tool send_bw_ud ib_send_bw -F -x 1 -c UD -n $rounds
check "ib_write_bw of UC" tool write_bw_uc ib_write_bw -F -x 1 -c UC -n $rounds
check "ib_write_bw by the CM" by_cm write_bw_cm ib_write_bw -F -n $rounds
check "ib_read_lat by the CM" by_cm read_lat_cm ib_read_lat -F -n $rounds
check "the port counts what queue pairs sent" has_counted port_xmit_packets port_xmit_data \
  port_rcv_packets port_rcv_data
check "and answers for each other count" reads_all_counts $device
check "Linux counts congestion" counts_congestion $device
check "and on the other port" counts_congestion $other
check "ib_send_bw of UD without its mark" \
  tool unmarked_ud ib_send_bw -F -x 1 -c UD --tclass 4 -n $rounds
check "counts none" congestion_is $other 0
# Of a connected queue pair Linux hands over the DSCP alone (mlx5_set_path of mlx5_ib/qp.c).
check "ib_send_bw of UD with it" tool marked_ud ib_send_bw -F -x 1 -c UD --tclass 7 -n $rounds
check "counts them" congestion_is $other "[1-9][0-9]*"
check "path MTU 4096" on_host sh -c "ip link set hca0 mtu 9000 && ip link set hca1 mtu 9000"
check "ib_write_bw of 4096" tool write_bw_4096 ib_write_bw -F -x 1 -m 4096 -n $rounds
check "our objects by DevX" by_devx $device
check "and on the other port" by_devx $other
check "fence-audit by DevX" nothing_was_late
check "doctor" on_host tools/doctor/doctor $device
check "ibv_rc_pingpong after that" tool rc_pingpong_again ibv_rc_pingpong -g 1 -n $rounds
check "no packet had a wrong ICRC" wrong_icrcs 0
check "a datagram for RoCE that has none" sends_no_icrc
check "is counted" wait_for 5 wrong_icrcs 1
check "mlx5_ib goes" rmmod rdma_ucm mlx5_ib
check "ping after that" on_host ping -q -c 3 -I 192.0.2.1 192.0.2.2
