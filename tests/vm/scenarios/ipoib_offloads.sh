# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: opensm numbers the ports, mlx5_core makes interfaces of them.

meets() { on_host ping -q -c 3 -I 192.0.2.1 "$@" 192.0.2.2; }

# streams NAME: TCP for three seconds from the first one to the second.
streams() {
  served "iperf_$1" iperf3 -s -1 -B 192.0.2.2 -- \
    iperf3 -c 192.0.2.2 -B 192.0.2.1 -t 3
}

# Messages to a UDP port that no process has: verbs takes all of them, and all come back.
taken_by_verbs() {
  on_host python3 -B "$SOURCE/tests/vm/underlay_flow.py" $other ib1 5001 20 \
    >/host/results/underlay_flow.txt 2>&1 </dev/null &
  taker=$!
  wait_for 60 grep -q ^ready /host/results/underlay_flow.txt &&
    on_host python3 -c '
import socket
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.bind(("192.0.2.1", 0))
out.settimeout(60)
for number in range(20):
    message = str(number).encode() + bytes(64)
    out.sendto(message, ("192.0.2.2", 5001))
for number in range(20):
    assert out.recvfrom(4096)[1] == ("192.0.2.2", 5001)'
  asker_status=$?
  wait $taker
  taker_status=$?
  cat /host/results/underlay_flow.txt
  test $asker_status -eq 0 && test $taker_status -eq 0
}

limit_s=120
mount -t debugfs debugfs /sys/kernel/debug
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
check "the first is mlx5_core's own" asks "^driver: mlx5_core.ib_ipoib" ethtool -i ib0
check "so is the other" asks "^driver: mlx5_core.ib_ipoib" ethtool -i ib1
check "the way between them" by_their_wire ib0 ib1
check "ping" meets
check "ping of 1,900 bytes" meets -s 1900
check "TCP" streams datagram
check "datagrams of one port to a queue pair of verbs" taken_by_verbs
check "ping after that" meets
check "ib_ipoib goes" rmmod ib_ipoib
kill $opensm
wait $opensm
check "unbinds" unbind "$(hca 0)"
check "the other unbinds" unbind "$(hca 1)"
