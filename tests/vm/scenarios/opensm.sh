# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: nothing but opensm makes the ports ACTIVE.

is_waiting() { grep -q INIT /sys/class/infiniband/"$1"/ports/1/state; }
has_lid() { test "$(lid_of "$1")" -gt 0; }
is_disabled() { grep -q Disabled /sys/class/infiniband/"$1"/ports/1/phys_state; }
# Whoever disables a port hears no answer: it comes by that port.
disables() {
  on_host ibportstate -C $device "$(lid_of $other)" 1 disable
  wait_for 20 is_disabled $other
}
enables() { on_host ibportstate -C $other -P 1 -D 0 1 enable; }

limit_s=120
modprobe mlx5_core
modprobe mlx5_ib
modprobe ib_uverbs
modprobe ib_umad
modprobe ib_cm  # which says so in the capabilities of each port
check "mlx5_ib registers $device" wait_for 20 has_device
check "mlx5_ib registers $other" wait_for 20 has_other
check "$device waits in INIT" wait_for 20 is_waiting $device
check "$other waits in INIT" wait_for 20 is_waiting $other
runs_opensm
check "opensm makes $device ACTIVE" wait_for 120 is_active
check "opensm makes $other ACTIVE" wait_for 120 other_is_active
check "$device has a LID" has_lid $device
check "$other has a LID of its own" test "$(lid_of $other)" -ne "$(lid_of $device)"
check "ibv_rc_pingpong by LID" pair rc_pingpong ibv_rc_pingpong -d $device -n 200
check "saquery has a path to it" asks "dlid.*$(lid_of $other)" \
  saquery -C $device --src-to-dst "$(lid_of $device):$(lid_of $other)"
check "ibping by GUID, whose LID opensm tells" pings -G "0x$(guid_of $other)"
check "ibportstate reads the other port" \
  asks "LinkState:\.*Active" ibportstate -C $device "$(lid_of $other)" 1 query
check "ibqueryerrors finds none" asks "2 nodes checked, 0 bad nodes" ibqueryerrors -C $device
check "rdma knows the prefix of the subnet" asks "$device/1 subnet_prefix fe80:0000" rdma link
check "ibportstate disables the other port" disables
check "and that enables itself" enables
check "opensm makes it ACTIVE again" wait_for 120 other_is_active
kill $opensm
cp /dev/shm/opensm.log /host/results/opensm.log
modprobe -r ib_cm
rmmod ib_umad mlx5_ib
check "unbinds" unbind "$(hca 0)"
check "the other unbinds" unbind "$(hca 1)"
