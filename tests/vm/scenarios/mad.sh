# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: both ports belong to one kernel, which does not know that they are neighbours.

limit_s=120
# Of the other port, which goes on sending: it looks for its subnet manager.
sent_packets() {
  on_host perfquery -x -C $device "$(lid_of $other)" 1 | sed -n 's/^PortXmitPkts:\.*//p'
}
begins_counts_anew() {
  before=$(sent_packets)
  on_host perfquery -x -R -C $device "$(lid_of $other)" 1 && test "$(sent_packets)" -lt "$before"
}

modprobe mlx5_core
load_mlx5_ib
check "mlx5_ib registers $other" wait_for 20 has_other
check "its port is ACTIVE" wait_for 20 other_is_active
modprobe ib_umad
modprobe ib_cm  # which says so in the capabilities of each port
check "user programs reach the agents of both" wait_for 10 test -e /dev/infiniband/umad1
check "smpquery asks its own port" \
  asks "Guid:*\\.*0x$(guid_of $device)" smpquery -C $device -D nodeinfo 0
check "smpquery asks the port at the other end of the link" \
  asks "Guid:*\\.*0x$(guid_of $other)" smpquery -C $device -D nodeinfo 0,1
check "smpquery asks it by LID" \
  asks "Guid:*\\.*0x$(guid_of $other)" smpquery -C $device nodeinfo "$(lid_of $other)"
check "ibnetdiscover finds both" \
  asks "Ca.*1 \"H-$(guid_of $other)\"" ibnetdiscover -C $device
check "the counts of its own port can all be read" reads_all_counts $device
check "perfquery asks the other port for what it sent" \
  asks "PortXmitPkts:\.*[1-9]" perfquery -x -C $device "$(lid_of $other)" 1
check "perfquery asks it for its errors, and there is none" \
  asks "PortRcvErrors:\.*0" perfquery -C $device "$(lid_of $other)" 1
check "perfquery begins its counts anew" begins_counts_anew
check "ibping by LID" pings "$(lid_of $other)"
modprobe -r ib_cm
rmmod ib_umad mlx5_ib
check "unbinds" unbind "$(hca 0)"
check "the other unbinds" unbind "$(hca 1)"
