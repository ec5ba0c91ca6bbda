# SPDX-License-Identifier: BSD-3-Clause
#
# What every scenario's script may use; busybox sh, in the initramfs. The host's root is /host, with
# $SOURCE and $BUILD in it. A scenario is a list of `check` lines; its status is how many failed.

ok=0
failed=0

# check NAME COMMAND ..: passes when COMMAND does.
check() {
  check_name=$1
  shift
  if "$@"; then
    ok=$((ok + 1))
    echo "PASS $check_name"
  else
    failed=$((failed + 1))
    echo "FAIL $check_name"
  fi
}

end_of_checks() {
  dmesg -r >/host/results/dmesg.txt  # with levels
  echo "$ok checks passed, $failed failed"
  test $((ok + failed)) -gt 0 || failed=1
  (exit "$failed")
}

# on_host COMMAND ..: COMMAND in the host's tree; what hangs is ended.
on_host() {
  timeout "${limit_s:-450}" chroot /host /usr/bin/env -C "$BUILD" HOME=/tmp \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# in_tree COMMAND ..: COMMAND in the tree that QEMU comes from, with the guest's devices.
in_tree() {
  if [ ! -e "/host$TREE/dev/infiniband" ]; then
    for folder in proc sys dev; do mount --rbind /$folder "/host$TREE/$folder"; done
  fi
  chroot "/host$TREE" "$@"
}

# The BDF of the index-th (from 0) function of the model.
hca() {
  grep -l 0x15b3 /sys/bus/pci/devices/*/vendor | sed -n "$(($1 + 1))p" | cut -d/ -f6
}

# says TEXT COMMAND ..: COMMAND fails, and the last line it prints has TEXT in it. (What a benchmark
# finds wrong with its cores stands before that.)
says() {
  said_text=$1
  shift
  said=$(on_host "$@" 2>&1 </dev/null)
  said_status=$?
  test $said_status -ne 0 && echo "$said" | tail -n 1 | grep -qF -- "$said_text" && return
  echo "status $said_status, said: $said"
  return 1
}

# examine [ARGUMENT ..]: what doctor says of $bdf in $said, its status in $said_status.
examine() {
  said=$(on_host tools/doctor/doctor "$bdf" "$@" 2>/dev/null </dev/null)
  said_status=$?
}

# examined STATUS CHECK ..: the lines of that status in $said are those of these checks, in their
# order, and doctor's own status is 1 when something is missing, 0 otherwise.
examined() {
  examined_status=$1
  shift
  found=$(echo "$said" | sed -n "s/^  $examined_status  *\([a-z0-9_-]*\) .*/\1/p" | tr '\n' ' ')
  missing=$(echo "$said" | grep -c '^  missing ')
  test "$found" = "${*:+$* }" && test $said_status -eq $((missing > 0)) && return
  echo "status $said_status, $examined_status: $found"
  echo "$said"
  return 1
}

# lacks CHECK ..: these are what is missing, all of them.
lacks() {
  examine
  examined missing "$@"
}

# bound_to BDF DRIVER
bound_to() { test "$(basename "$(readlink "/sys/bus/pci/devices/$1/driver")")" = "$2"; }

# answers BDF: an EQ's field in debugfs is a QUERY_EQ, so mlx5_core still talks to the firmware.
answers() { grep -q '^0x[0-9a-f]*[1-9a-f]' /sys/kernel/debug/mlx5/"$1"/EQs/*/num_eqes; }

# unbind BDF: passes when no driver has it any more.
unbind() {
  if [ -e "/sys/bus/pci/devices/$1/driver" ]; then
    echo "$1" >"/sys/bus/pci/devices/$1/driver/unbind"
  fi
  test ! -e "/sys/bus/pci/devices/$1/driver"
}

# bind_to BDF DRIVER: by driver_override, as driverctl and dpdk-devbind.py do it.
bind_to() {
  unbind "$1"
  echo "$2" >"/sys/bus/pci/devices/$1/driver_override"
  echo "$1" >/sys/bus/pci/drivers_probe
  bound_to "$1" "$2"
}

# wait_for SECONDS COMMAND ..: until COMMAND passes.
wait_for() {
  waits=$(($1 * 10))
  shift
  until "$@"; do
    waits=$((waits - 1))
    test $waits -gt 0 || return 1
    sleep 0.1
  done
}

# The device that Linux's mlx5_ib makes of the first function.
device=mlx5_0
has_device() { test -d /sys/class/infiniband/$device; }
has_no_device() { ! has_device; }
is_active() { on_host ibv_devinfo -d $device | grep -q 'state:.*PORT_ACTIVE'; }

# served NAME COMMAND .. -- COMMAND ..: the first one waits, the second asks; both succeed.
served() {
  paired=$1
  shift
  server_words=
  while [ "$1" != -- ]; do
    server_words="$server_words $1"
    shift
  done
  shift
  # shellcheck disable=SC2086  # words
  on_host $server_words >"/host/results/$paired.server.txt" 2>&1 </dev/null &
  server=$!
  sleep 2
  on_host "$@" >"/host/results/$paired.client.txt" 2>&1 </dev/null
  client_status=$?
  wait $server
  server_status=$?
  test $client_status -eq 0 && test $server_status -eq 0 && return
  echo "status $server_status at the server, $client_status at the client"
  tail -n 5 "/host/results/$paired.server.txt" "/host/results/$paired.client.txt"
  return 1
}

# pair NAME COMMAND ..: COMMAND waits, the same with 127.0.0.1 behind it asks; both succeed.
pair() {
  pair_name=$1
  shift
  served "$pair_name" "$@" -- "$@" 127.0.0.1
}

# load_mlx5_ib: the driver and what user programs reach it by.
load_mlx5_ib() {
  modprobe mlx5_ib
  modprobe ib_uverbs
  check "mlx5_ib registers $device" wait_for 20 has_device
  check "its port is ACTIVE" wait_for 20 is_active
}

# What two functions of one wire share: the second one's device, as $device is the first one's.
other=mlx5_1
has_other() { test -d /sys/class/infiniband/$other; }
other_is_active() { on_host ibv_devinfo -d $other | grep -q 'state:.*PORT_ACTIVE'; }
lid_of() { printf "%d" "$(cat /sys/class/infiniband/"$1"/ports/1/lid)"; }
guid_of() { tr -d : </sys/class/infiniband/"$1"/node_guid; }

# ucx NAME ENVIRONMENT ARGUMENT ..: ucx_perftest with these; PORT in a word is each one's device.
ucx() {
  ucx_name=$1
  ucx_words=$2
  shift 2
  ucx_words="$ucx_words ucx_perftest -f -n 100 -w 10 $*"
  # shellcheck disable=SC2046  # words
  served "$ucx_name" $(echo "$ucx_words" | sed "s/PORT/$other/") -- \
    $(echo "$ucx_words" | sed "s/PORT/$device/") 127.0.0.1
}

# runs_opensm: opensm on the first port, until $opensm is killed. Beside the default partition there
# is 0x8001, of which all are full members.
runs_opensm() {
  printf '%s\n' "Default=0x7fff,ipoib:ALL=full;" "One=0x1,ipoib:ALL=full;" >/dev/shm/partitions
  in_tree /usr/sbin/opensm --guid "0x$(guid_of $device)" --log_file /dev/shm/opensm.log \
    --Pconfig /dev/shm/partitions --console off >/dev/null 2>&1 &
  opensm=$!
}

# ip_over_ib INTERFACE ADDRESS: an interface of ib_ipoib with an address of 192.0.2.0/24, in the
# broadcast group.
has_interface() { test -d "/sys/class/net/$1"; }
is_running() { on_host ip -o link show "$1" | grep -q LOWER_UP; }
ip_over_ib() {
  wait_for 20 has_interface "$1" && on_host ip addr add "$2/24" dev "$1" &&
    on_host ip link set "$1" up && wait_for 60 is_running "$1"
}

# starts_over_ib: two InfiniBand ports that opensm numbers, ib0 with 192.0.2.1 and ib1 with
# 192.0.2.2 on them, and no way between these but the wire. ends_over_ib MODULE ..: they are gone,
# and these modules before.
starts_over_ib() {
  modprobe -a mlx5_core mlx5_ib ib_uverbs ib_umad
  check "mlx5_ib registers $device" wait_for 20 has_device
  check "mlx5_ib registers $other" wait_for 20 has_other
  runs_opensm
  check "opensm makes $device ACTIVE" wait_for 120 is_active
  check "opensm makes $other ACTIVE" wait_for 120 other_is_active
  modprobe ib_ipoib
  check "an interface of $device" ip_over_ib ib0 192.0.2.1
  check "an interface of $other" ip_over_ib ib1 192.0.2.2
  check "the way between them" by_their_wire ib0 ib1
}
ends_over_ib() {
  check "ib_ipoib goes" rmmod "$@" ib_ipoib
  kill $opensm
  wait $opensm
  check "unbinds" unbind "$(hca 0)"
  check "the other unbinds" unbind "$(hca 1)"
}
# meets_over_ib ARGUMENT ..: the first one pings the other. tcp_over_ib NAME: three seconds of TCP.
meets_over_ib() { on_host ping -q -c 3 -I 192.0.2.1 "$@" 192.0.2.2; }
tcp_over_ib() {
  served "iperf_$1" iperf3 -s -1 -B 192.0.2.2 -- iperf3 -c 192.0.2.2 -B 192.0.2.1 -t 3
}

# reads_all_counts DEVICE: mlx5_ib fails a count that the device has not.
reads_all_counts() { cat /sys/class/infiniband/"$1"/ports/1/counters/*; }

# asks TEXT COMMAND ..: COMMAND succeeds and says TEXT.
asks() {
  wanted=$1
  shift
  said=$(on_host "$@" 2>&1)
  said_status=$?
  echo "$*: $said" >>/host/results/said.txt
  test $said_status -eq 0 && echo "$said" | grep -q -- "$wanted" && return
  echo "status $said_status, said: $said"
  return 1
}

answers_ping() { on_host ibping -C $device -P 1 -c 1 "$@" 2>&1 | grep -q ' 0% packet loss'; }
# pings ARGUMENT ..: five vendor MADs from the first port, answered by ibping at the second.
pings() {
  on_host ibping -S -C $other -P 1 >/dev/null 2>&1 &
  server=$!
  # It takes what comes once it has registered its agent.
  wait_for 10 answers_ping "$@"
  asks ' 0% packet loss' ibping -C $device -P 1 -c 5 "$@"
  ping_status=$?
  kill $server
  wait $server
  return $ping_status
}

# loads TIMES: mlx5_ib goes and comes, mlx5_core with it.
loads() {
  load=0
  while [ $load -lt "$1" ]; do
    rmmod mlx5_ib mlx5_core && wait_for 10 has_no_device || return 1
    modprobe mlx5_ib && wait_for 10 has_device || return 1
    load=$((load + 1))
  done
}

# The network interface that mlx5_core makes of a function; that of a MAC.
netdev_of() { basename "$(ls -d "/sys/bus/pci/devices/$1"/net/*)"; }
has_netdev() { ls -d "/sys/bus/pci/devices/$1"/net/* >/dev/null 2>&1; }

nic_of() { basename "$(dirname "$(grep -l "$1" /sys/class/net/*/address)")"; }

# interface INDEX NAME ADDRESS: of that function, by that name, with that address of 192.0.2.0/24.
interface() {
  wait_for 60 has_netdev "$(hca "$1")" &&
    on_host ip link set "$(netdev_of "$(hca "$1")")" name "$2" &&
    on_host ip link set "$2" up && on_host ip addr add "$3/24" dev "$2"
}

# gid_index DEVICE LAST: that of RoCEv2 whose last four bytes are so.
gid_index() {
  for gid_file in /sys/class/infiniband/"$1"/ports/1/gids/*; do
    number=${gid_file##*/}
    type=/sys/class/infiniband/$1/ports/1/gid_attrs/types/$number
    case $(cat "$gid_file" 2>/dev/null) in
    *:"$2") grep -qs v2 "$type" && echo "$number" && return 0 ;;
    esac
  done
  return 1
}

# across FROM INTERFACE TO TABLE: what goes from one address of this host to the other leaves by the
# interface, and what comes in by it is taken. Without that it is lo's.
across() {
  family=-4
  case $1 in *:*) family=-6 ;; esac
  on_host ip $family rule add pref 5 iif "$2" lookup local &&
    on_host ip $family rule add pref 10 from "$1" to "$3" lookup "$4" &&
    on_host ip $family route add "$3" dev "$2" table "$4"
}

# comes_up INDEX: a port of $port_type, which scenarios for both types set. One of InfiniBand comes
# up by itself, one of Ethernet with the interface on it.
comes_up() { test "$port_type" = ib || interface "$1" "hca$1" "192.0.2.$(($1 + 1))"; }

# two_interfaces: hca0 with 192.0.2.1 and hca1 with 192.0.2.2, of two functions, and one wire.
two_interfaces() {
  interface 0 hca0 192.0.2.1 && interface 1 hca1 192.0.2.2 && by_their_wire hca0 hca1
}

# by_their_wire FIRST SECOND: interfaces with 192.0.2.1 and 192.0.2.2 reach each other by what is
# between them. Both are in one network namespace, for NVMe over RDMA is in the first one alone.
by_their_wire() {
  for setting in accept_local=1 rp_filter=0 arp_ignore=1; do
    for conf in /proc/sys/net/ipv4/conf/*; do
      echo "${setting#*=}" >"$conf/${setting%=*}"
    done
  done
  across 192.0.2.1 "$1" 192.0.2.2 101 && across 192.0.2.2 "$2" 192.0.2.1 102 &&
    on_host ip rule add pref 20 lookup local && on_host ip rule del pref 0
}
