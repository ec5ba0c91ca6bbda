# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: rules that stop or change what the first of two ports sends, which mlx5_ib makes
# for a program of verbs while mlx5e has its network interface on the same function. Each ping has a
# length of its own, by which the wire's recording is judged. (Of protocols 1 is ICMP, 17 UDP.)

# rule PROTOCOL COMMAND ..: COMMAND while nothing of that protocol leaves the first port.
rule() {
  on_host python3 -B "$SOURCE/tests/vm/egress_rule.py" $device "$@" >/host/results/rule.txt 2>&1
  rule_status=$?
  echo "$*, status $rule_status:" >>/host/results/rules.txt
  cat /host/results/rule.txt >>/host/results/rules.txt
  return $rule_status
}
said() {
  grep -q "$1" /host/results/rule.txt && return
  cat /host/results/rule.txt
  return 1
}
stopped() { said "^$1: stopped $2 frames, $3 octets"; }

# ping_to ADDRESS FROM BYTES: words for five of them.
ping_to() { echo "ping -q -c 5 -i 0.2 -W 5 -s $3 -I $2 $1"; }
to_other=$(ping_to 192.0.2.2 192.0.2.1 99)
to_other_allowed=$(ping_to 192.0.2.2 192.0.2.1 98)
from_other=$(ping_to 192.0.2.1 192.0.2.2 97)
to_other_after=$(ping_to 192.0.2.2 192.0.2.1 96)
to_other_wrapped=$(ping_to 192.0.2.2 192.0.2.1 95)

# shellcheck disable=SC2086  # words
pings_are_stopped() {
  ! rule 1 $to_other && said ' 100% packet loss' && stopped 1 5 $((5 * (42 + 99)))
}
# shellcheck disable=SC2086
answers_are_stopped() {
  ! rule 1 $from_other && said ' 100% packet loss' && stopped 1 5 $((5 * (42 + 97)))
}
# shellcheck disable=SC2086
others_pass() { rule 17 $to_other_allowed && said ' 0% packet loss' && stopped 17 0 0; }
# Of two programs, each with a rule of its own.
# shellcheck disable=SC2086
both_stand() {
  ! rule 17 python3 -B "$SOURCE/tests/vm/egress_rule.py" $device 1 $to_other &&
    stopped 1 5 $((5 * (42 + 99))) && stopped 17 0 0
}
# Segments that the device cuts.
tcp_passes() {
  served tcp iperf3 -s -1 -B 192.0.2.2 -- python3 -B "$SOURCE/tests/vm/egress_rule.py" \
    $device 17 iperf3 -c 192.0.2.2 -B 192.0.2.1 -t 2 &&
    grep -q '^17: stopped 0 frames' /host/results/tcp.client.txt
}
# RoCE is UDP on the wire, and no frame of a send queue.
roce_passes() {
  served rc_pingpong ibv_rc_pingpong -g 1 -n 100 -d $other -- python3 -B \
    "$SOURCE/tests/vm/egress_rule.py" $device 17 ibv_rc_pingpong -g 1 -n 100 -d $device \
    127.0.0.1 && grep -q '^17: stopped 0 frames' /host/results/rc_pingpong.client.txt
}

# changes CHANGE PROTOCOL COMMAND ..: COMMAND while the first port changes what it sends of that
# protocol.
changes() {
  change=$1
  of=$2
  shift 2
  on_host python3 -B "$SOURCE/tests/vm/egress_change.py" $device $of "$change" "$@"
}
tcp_with_other_headers_passes() {
  served changed_tcp iperf3 -s -1 -B 192.0.2.2 -- python3 -B "$SOURCE/tests/vm/egress_change.py" \
    $device 6 dscp iperf3 -c 192.0.2.2 -B 192.0.2.1 -t 2
}
came_by_vxlan() { cat /sys/class/net/vxlan7/statistics/rx_packets; }
# Nobody answers what comes out of the tunnel.
pings_in_a_tunnel_come_out_of_it() {
  modprobe vxlan &&
    on_host ip link add vxlan7 type vxlan id 7 dstport 4789 local 192.0.2.2 dev hca1 &&
    on_host ip link set vxlan7 up || return
  sleep 1
  before=$(came_by_vxlan)
  # shellcheck disable=SC2086
  ! changes "vxlan:192.0.2.1,192.0.2.2,$(cat /sys/class/net/hca1/address)" 1 $to_other_wrapped &&
    test $(($(came_by_vxlan) - before)) = 5
}
# shellcheck disable=SC2086
all_pass() { on_host $to_other_after | grep -q ' 0% packet loss'; }

limit_s=120
mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
check "two interfaces" two_interfaces
load_mlx5_ib
check "the other port is ACTIVE" wait_for 20 other_is_active
check "ping" on_host ping -q -c 3 -I 192.0.2.1 192.0.2.2
check "a rule stops pings, and counts them" pings_are_stopped
check "and answers to the other port's" answers_are_stopped
check "a rule for UDP stops no ping" others_pass
check "rules of two programs stand beside each other" both_stand
check "a rule for UDP stops no TCP" tcp_passes
check "nor packets of queue pairs" roce_passes
check "TCP passes with headers that a rule changes" tcp_with_other_headers_passes
check "pings that a rule puts in VXLAN come out of Linux's" pings_in_a_tunnel_come_out_of_it
check "when the rules are gone all pings pass" all_pass
check "a raw packet queue pair sends at its rate" on_host python3 -B \
  "$SOURCE/tests/vm/raw_rate.py" $device
check "mlx5_ib goes" rmmod mlx5_ib
check "ping after that" on_host ping -q -c 3 -I 192.0.2.1 192.0.2.2
check "unbinds" unbind "$(hca 0)"
