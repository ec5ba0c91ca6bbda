# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: what iproute2's dcb and ethtool set of a port's priorities reads back, and what
# the kernel checks of it is refused. Then one end stops a priority of the other.

# in_ns NAME COMMAND ..: of the host's tools.
in_ns() {
  ns=$1
  shift
  on_host ip netns exec "$ns" "$@"
}
has_carrier() { in_ns "$1" ip link show hca | grep -q LOWER_UP; }

# place INDEX NAMESPACE NUMBER: the netdev of a function goes there, with an address.
place() {
  bdf=$(hca "$1")
  check "$2: mlx5_core makes a netdev" wait_for 60 has_netdev "$bdf"
  on_host ip netns add "$2"
  check "$2: its netdev goes there as hca" \
    on_host ip link set "$(netdev_of "$bdf")" netns "$2" name hca
  check "$2: it comes up" in_ns "$2" ip link set hca up
  check "$2: it has a carrier" wait_for 30 has_carrier "$2"
  in_ns "$2" ip addr add "192.0.2.$3/24" dev hca
}

# reads TEXT COMMAND ..: COMMAND in the first namespace says TEXT, blanks aside.
reads() {
  wanted=$1
  shift
  said=$(in_ns one "$@" 2>&1 | tr -s ' \t\n' ' ')
  echo "$*: $said" >>/host/results/said.txt
  case $said in *"$wanted"*) return ;; esac
  echo "$* said: $said"
  return 1
}
# sets COMMAND ..: at both ends, again where it fails: dcb was seen to end with libmnl's "Protocol
# error", an answer that has not the sequence number it waits for, behind a write that was done.
sets() { wait_for 10 in_ns one "$@" && wait_for 10 in_ns two "$@"; }
refuses() { ! in_ns one "$@" >>/host/results/said.txt 2>&1; }
# queues: of eight classes, at both ends.
queues() {
  in_ns one tc qdisc add dev hca root mqprio num_tc 8 map 0 1 2 3 4 5 6 7 hw 1 &&
    in_ns two tc qdisc add dev hca root mqprio num_tc 8 map 0 1 2 3 4 5 6 7 hw 1
}
count_frames() { in_ns "$1" ethtool -S hca >"/host/results/ethtool_$1.txt"; }

# stops_priority_3: frames of 802.1Qbb from the second end, one that stops and one that lets go.
stops_priority_3() {
  in_ns two python3 -c '
import socket, struct
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
port.bind(("hca", 0))
group, own = bytes.fromhex("0180c2000001"), bytes.fromhex("025043000002")
for quanta in (0xffff, 0):
    times = [quanta if priority == 3 else 0 for priority in range(8)]
    frame = group + own + struct.pack(">HHH8H", 0x8808, 0x0101, 1 << 3, *times)
    port.send(frame.ljust(60, b"\0"))
'
}
pings() { in_ns one ping -q -c 10 -i 0.2 -W 10 -Q 0x60 192.0.2.2 | grep -q ' 0% packet loss'; }

mount -t debugfs debugfs /sys/kernel/debug
modprobe -a mlx5_core sch_mqprio
place 0 one 1
place 1 two 2

check "each priority has a class" reads "prio-tc 0:1 1:0 2:2 3:3" dcb ets show dev hca prio-tc
check "shares of 100 in all" sets dcb ets set dev hca tc-tsa all:ets tc-bw all:12 0:16
check "they read back" reads "tc-bw 0:16 1:12 2:12 3:12" dcb ets show dev hca tc-bw
check "a priority of another class" sets dcb ets set dev hca prio-tc 5:6
check "that reads back" reads "5:6 6:6" dcb ets show dev hca prio-tc
# Last of these: Linux 6.1 reads a share of 100 of a strict class, which dcb does not write back.
check "a strict class" sets dcb ets set dev hca tc-tsa 7:strict tc-bw 7:0 0:28
check "it reads back" reads "7:strict" dcb ets show dev hca tc-tsa
# dcb gives octets a second, and the driver takes them for Kbit: it asks for 10 Gbit/s.
check "a limit" sets dcb maxrate set dev hca tc-maxrate 3:80Mbit
check "the limit reads back" reads "2:0bit 3:80Mbit 4:0bit" dcb maxrate show dev hca

check "buffers" reads "total-size 256Kb" dcb buffer show dev hca
check "a buffer for priority 3" \
  sets dcb buffer set dev hca prio-buffer 3:1 buffer-size 0:131072 1:131072
check "it is its own" reads "3:1 4:0" dcb buffer show dev hca prio-buffer

check "DSCP 24 is of priority 3" sets dcb app add dev hca dscp-prio 24:3
check "and reads back" reads "CS3:3" dcb app show dev hca dscp-prio
check "a queue for each class" queues

check "no flow control of priorities" reads "3:off" dcb pfc show dev hca prio-pfc
check "of priority 3" sets dcb pfc set dev hca prio-pfc 3:on
check "PFC reads back" reads "2:off 3:on 4:off" dcb pfc show dev hca prio-pfc
check "the link comes again" wait_for 30 has_carrier one
check "at both ends" wait_for 30 has_carrier two
check "ping in priority 3" pings
check "the other end stops it" stops_priority_3
check "ping after that" pings
check "one counts" count_frames one
check "two counts" count_frames two
check "pauses among it" reads "indications 0:0 1:0 2:0 3:2 4:0" dcb -s pfc show dev hca

check "FEC is off" reads "Active FEC encoding: Off" ethtool --show-fec hca
check "RS-FEC" in_ns one ethtool --set-fec hca encoding rs
check "it is asked for" reads "FEC encodings: RS" ethtool --show-fec hca
check "Firecode is refused" refuses ethtool --set-fec hca encoding baser
check "the link comes again after that" wait_for 30 has_carrier one
check "RS-FEC is active" reads "Active FEC encoding: RS" ethtool --show-fec hca

check "the port blinks" in_ns one ethtool -p hca 1
# mlx5_core of Linux 6.1 reads no temperatures.
case $(uname -r) in
  6.1.*) ;;
  *)
    check "how warm the chip is" reads "45000" cat /sys/class/hwmon/hwmon*/temp1_input
    check "its name" reads "asic" cat /sys/class/hwmon/hwmon*/temp1_label
    ;;
esac

check "unbinds" unbind "$(hca 0)"
check "the other unbinds" unbind "$(hca 1)"
