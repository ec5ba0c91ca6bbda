# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: opensm numbers the ports, mlx5_core makes interfaces of them.

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
starts_over_ib
check "the first is mlx5_core's own" asks "^driver: mlx5_core.ib_ipoib" ethtool -i ib0
check "so is the other" asks "^driver: mlx5_core.ib_ipoib" ethtool -i ib1
check "ping" meets_over_ib
check "ping of 1,900 bytes" meets_over_ib -s 1900
check "TCP" tcp_over_ib datagram
check "datagrams of one port to a queue pair of verbs" taken_by_verbs
check "ping after that" meets_over_ib
ends_over_ib
