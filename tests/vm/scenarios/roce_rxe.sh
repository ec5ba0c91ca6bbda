# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: mlx5_ib on the function, rdma_rxe on the NIC, one wire between them. Each tool
# runs both ways: one end serves, the other asks.

rounds=200
their_mac=02:50:43:00:00:02
device_at4=c000:0201
other_at4=c000:0202
device_at6=0000:0001
other_at6=0000:0002

# their_nic: the NIC as nic0, with 192.0.2.2.
their_nic() {
  nic=$(nic_of $their_mac)
  on_host ip link set "$nic" name nic0 && on_host ip link set nic0 up &&
    on_host ip addr add 192.0.2.2/24 dev nic0
}
# Global addresses of IPv6, which reach each other by the wire too.
with_ipv6() {
  on_host ip addr add 2001:db8::1/64 dev hca0 nodad &&
    on_host ip addr add 2001:db8::2/64 dev nic0 nodad &&
    across 2001:db8::1 hca0 2001:db8::2 103 && across 2001:db8::2 nic0 2001:db8::1 104 &&
    on_host ip -6 rule add pref 20 lookup local && on_host ip -6 rule del pref 0
}
gids_are_there() {
  device_gid4=$(wait_for 30 gid_index $device $device_at4) &&
    device_gid6=$(wait_for 30 gid_index $device $device_at6) &&
    other_gid4=$(wait_for 30 gid_index $other $other_at4) &&
    other_gid6=$(wait_for 30 gid_index $other $other_at6)
}

# both_ways NAME FLAG VERSION COMMAND ..: the device given by -d and its GID by FLAG, by the GIDs of
# that version of IP, or those at index 0 (link-local).
both_ways() {
  both=$1
  flag=$2
  case $3 in
  4) set -- "$device_gid4" "$other_gid4" "$@" ;;
  6) set -- "$device_gid6" "$other_gid6" "$@" ;;
  0) set -- 0 0 "$@" ;;
  esac
  mine=$1
  theirs=$2
  shift 5
  check "$both, mlx5_ib asks rdma_rxe" served "${both}_asks" "$@" -d $other "$flag" "$theirs" -- \
    "$@" -d $device "$flag" "$mine" 127.0.0.1
  check "$both, rdma_rxe asks mlx5_ib" served "${both}_serves" "$@" -d $device "$flag" "$mine" -- \
    "$@" -d $other "$flag" "$theirs" 127.0.0.1
}
# cm_both_ways NAME FIRST SECOND ARGUMENT ..: rping, which checks what it READs and what is written.
cm_both_ways() {
  cm=$1
  first=$2
  second=$3
  shift 3
  check "$cm, mlx5_ib asks rdma_rxe" served "${cm}_asks" rping -s -a "$second" -C 20 -v -V "$@" -- \
    rping -c -I "$first" -a "$second" -C 20 -v -V "$@"
  check "$cm, rdma_rxe asks mlx5_ib" served "${cm}_serves" rping -s -a "$first" -C 20 -v -V "$@" \
    -- rping -c -I "$second" -a "$first" -C 20 -v -V "$@"
}
# That is at the level of debugging, where two functions say of each packet how far they are.
says_what_it_drops() {
  for asked in "module rdma_rxe +p" "func rxe_receiver -p" "func rxe_completer -p"; do
    echo "$asked" >/sys/kernel/debug/dynamic_debug/control || return 1
  done
}
# Whatever the two drivers counted.
count_both() {
  for counters in $device $other; do
    for counter in /sys/class/infiniband/$counters/ports/1/hw_counters/*; do
      echo "${counter##*/} $(cat "$counter")"
    done >/host/results/counters_$counters.txt
  done
}

limit_s=200
mount -t debugfs debugfs /sys/kernel/debug
modprobe -a mlx5_core virtio_net crc32_generic
check "an interface of the function" interface 0 hca0 192.0.2.1
check "an interface of the NIC" their_nic
check "the way between them" by_their_wire hca0 nic0
check "the same by IPv6" with_ipv6
check "ping" on_host ping -q -c 3 -I 192.0.2.1 192.0.2.2
check "ping by IPv6" on_host ping -q -c 3 -I 2001:db8::1 2001:db8::2
load_mlx5_ib
modprobe -a rdma_rxe rdma_ucm
check "soft-RoCE says what it drops" says_what_it_drops
other=rxe0
check "soft-RoCE on the NIC" on_host rdma link add $other type rxe netdev nic0
check "its port is ACTIVE too" wait_for 20 other_is_active
check "GIDs of both" gids_are_there
on_host ibv_devinfo -v >/host/results/devinfo.txt 2>&1
for service in rc uc ud srq; do
  both_ways ${service}_pingpong -g 4 ibv_${service}_pingpong -n $rounds
done
both_ways rc_pingpong_events -g 4 ibv_rc_pingpong -e -n $rounds
both_ways rc_pingpong_6 -g 6 ibv_rc_pingpong -n $rounds
both_ways ud_pingpong_6 -g 6 ibv_ud_pingpong -n $rounds
both_ways rc_pingpong_local -g 0 ibv_rc_pingpong -n $rounds
cm_both_ways rping 192.0.2.1 192.0.2.2
cm_both_ways rping_odd 192.0.2.1 192.0.2.2 -S 20011
cm_both_ways rping_6 2001:db8::1 2001:db8::2
# -F: an emulated processor keeps no steady frequency, by which perftest counts. -u 18: one that is
# off its processor for longer than the 67 ms of perftest's own timeout makes no request twice.
# -o 16: as many READs as mlx5_ib has out at most. rdma_rxe has 128, which perftest tells both.
perf="-F -u 18 -n $rounds"
for name in ib_write_lat ib_send_lat; do both_ways $name -x 4 $name $perf; done
for name in ib_write_bw ib_send_bw; do both_ways $name -x 4 $name $perf -s 8000; done
for name in ib_read_lat ib_atomic_lat ib_atomic_bw; do both_ways $name -x 4 $name $perf -o 16; done
both_ways ib_read_bw -x 4 ib_read_bw $perf -o 16 -s 8000
both_ways ib_write_lat_6 -x 6 ib_write_lat $perf
both_ways ib_send_bw_6 -x 6 ib_send_bw $perf -s 8000
both_ways ib_read_lat_6 -x 6 ib_read_lat $perf -o 16
both_ways ib_atomic_bw_6 -x 6 ib_atomic_bw $perf -o 16
both_ways ib_write_bw_both -x 4 ib_write_bw $perf -s 8000 -b
both_ways ib_send_lat_ud -x 4 ib_send_lat -F -c UD -n $rounds
both_ways ib_send_bw_ud -x 4 ib_send_bw -F -c UD -n $rounds -s 1000
both_ways ib_write_lat_uc -x 4 ib_write_lat -F -c UC -n $rounds
both_ways ib_write_bw_uc -x 4 ib_write_bw -F -c UC -n $rounds -s 8000
check "path MTU 4096" on_host sh -c "ip link set hca0 mtu 9000 && ip link set nic0 mtu 9000"
both_ways ib_write_bw_4096 -x 4 ib_write_bw $perf -m 4096
both_ways ib_read_bw_4096 -x 4 ib_read_bw $perf -o 16 -m 4096
count_both
check "soft-RoCE goes" on_host rdma link delete $other
check "mlx5_ib goes" rmmod rdma_ucm mlx5_ib
check "ping after that" on_host ping -q -c 3 -I 192.0.2.1 192.0.2.2
