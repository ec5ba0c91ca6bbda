# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: under leases by DevX the link goes down, and devlink loads the firmware again.

rounds=100
limit_s=300
socket=/run/leased.sock
address=192.0.2.1

leasectl() { on_host tools/leasectl/leasectl --socket $socket "$@"; }
serves() { leasectl status >/dev/null 2>&1; }
# serve NAME: leased on the RDMA device, in the background as $server.
serve() {
  on_host tools/leased/leased --device $device --address $address --socket $socket --journal none \
    >"/host/results/leased_$1.txt" 2>&1 </dev/null &
  server=$!
  wait_for 60 serves
}
# end_server: it ends, whatever it thinks of its device.
end_server() {
  killall -TERM leased 2>/dev/null
  wait_for 60 gone $server
}
gone() { ! kill -0 "$1" 2>/dev/null; }

# grants NAME: a lease that somebody holds. Its name is the first word that is said of it. A busy
# machine may be asked again.
lease_of() { sed -n '1s/ .*//p' "/host/results/$1.lease" 2>/dev/null; }
has_lease() { lease_of "$1" | grep -Eq '^[0-9a-f]+:[0-9a-f]+$'; }
is_answered() { has_lease "$1" || gone $holder; }
asks_for() {
  leasectl alloc --gid 192.0.2.2 --mac 02:50:43:00:00:02 \
    >"/host/results/$1.lease" 2>&1 </dev/null &
  holder=$!
  wait_for 60 is_answered "$1" && has_lease "$1"
}
grants() { wait_for 5 asks_for "$1"; }
# takes_back NAME: what the revoke came to, and its status behind it, for the judge.
takes_back() {
  leasectl revoke "$(lease_of "$1")" >"/host/results/$1.revoke" 2>&1 </dev/null
  echo "status $?" >>"/host/results/$1.revoke"
}

# reloads: devlink's word for what it did, in devlink.txt.
reloads() {
  on_host devlink dev reload "pci/$bdf" action fw_activate >>/host/results/devlink.txt 2>&1
}
# allows_reset true|false: whether this host agrees to a reset.
allows_reset() {
  on_host devlink dev param set "pci/$bdf" name enable_remote_dev_reset value "$1" cmode runtime
}
# is_told TEXT COMMAND ..: COMMAND fails, and somewhere says TEXT.
is_told() {
  told=$1
  shift
  said=$(on_host "$@" 2>&1)
  said_status=$?
  test $said_status -ne 0 && echo "$said" | grep -qF -- "$told" && return
  echo "status $said_status, said: $said"
  return 1
}
# is_off TIMES: the device has been switched off so often, to be reset.
is_off() { test "$(dmesg | grep -c 'Sync Reset now')" -ge "$1"; }

# The interface may be the one from before the reset, with its address.
has_its_interface() {
  on_host ip -o addr show | grep -q " $address/24 " || interface 0 "hca_$1" $address
}
# is_back WHEN: driver, firmware, RDMA device and port.
is_back() {
  check "$1: mlx5_core has the function" bound_to "$bdf" mlx5_core
  check "$1: the firmware answers" answers "$bdf"
  check "$1: $device is there" wait_for 60 has_device
  check "$1: an interface" has_its_interface "$1"
  check "$1: its port is ACTIVE" wait_for 60 is_active
  check "$1: its address is a GID" wait_for 20 gid_index $device c000:0201
  check "$1: ibv_rc_pingpong" pair "rc_pingpong_$1" \
    ibv_rc_pingpong -d $device -g "$(gid_index $device c000:0201)" -n $rounds
}
is_down() { on_host ibv_devinfo -d $device | grep -q 'state:.*PORT_DOWN'; }

# audits NAME ARGUMENT ..: fence-audit on it. at_work: it has the device open.
audits() {
  audit=$1
  shift
  on_host tools/fence_audit/fence-audit $device --plan seed "$@" \
    >"/host/results/$audit.txt" 2>&1 </dev/null
}
at_work() { ls -l "/proc/$(pidof fence-audit)/fd" 2>/dev/null | grep -q uverbs; }

mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
bdf=$(hca 0)
modprobe -a mlx5_ib ib_uverbs
is_back first

check "leased serves" serve first
check "a lease" grants link_down
check "the link goes down" on_host ip link set "$(netdev_of "$bdf")" down
check "the port is DOWN" wait_for 20 is_down
takes_back link_down
check "the link comes up" on_host ip link set "$(netdev_of "$bdf")" up
check "the port is ACTIVE again" wait_for 60 is_active

check "this host forbids a reset" allows_reset false
check "and is told so" is_told "One of the hosts disabled reset" \
  devlink dev reload "pci/$bdf" action fw_activate
check "it allows one again" allows_reset true
check "the firmware answers all the while" answers "$bdf"

check "a lease before the reset" grants during
check "another" grants behind
reloads &
reload=$!
check "the device is switched off" wait_for 60 is_off 1
takes_back during
wait $reload
check "devlink has loaded the firmware again" test $? -eq 0
takes_back behind
check "leased ends" end_server
is_back again

audits under_audit --fences 100000 --leases 4 &
owner=$!
check "an audit is at work" wait_for 60 at_work
sleep 8
check "devlink loads the firmware under it" reloads
check "and it ends" wait_for 200 gone $owner
is_back last

check "leased serves anew" serve last
check "a new owner has a lease" grants new
takes_back new
check "and leased ends" end_server
rmmod mlx5_ib
check "unbinds" unbind "$bdf"
