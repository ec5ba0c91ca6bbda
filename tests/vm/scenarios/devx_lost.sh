# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: leases by DevX, and their owner, their driver or their device goes. The ports
# are of $port_type.

# fencing DEVICE NAME: fence-audit at work on it, in the background as $owner.
fencing() {
  on_host tools/fence_audit/fence-audit "$1" --plan seed --fences 100000 --leases 4 \
    >"/host/results/$2.txt" 2>&1 </dev/null &
  owner=$!
}

# at_work: fence-audit has the device open. A busy machine takes its time to start it.
at_work() { ls -l "/proc/$(pidof fence-audit)/fd" 2>/dev/null | grep -q uverbs; }

# ended: $owner has ended by itself, whatever its status.
ended() { ! kill -0 $owner 2>/dev/null; }

limit_s=300
mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
bdf=$(hca 0)
broken=$(hca 1)
check "its port comes up" comes_up 0
check "the other's too" comes_up 1
load_mlx5_ib
check "both devices are there" wait_for 20 test -d /sys/class/infiniband/mlx5_1
healthy_name=$(ls "/sys/bus/pci/devices/$bdf/infiniband")
broken_name=$(ls "/sys/bus/pci/devices/$broken/infiniband")

fencing "$healthy_name" killed
check "an audit is at work" wait_for 60 at_work
sleep 8
killall -9 fence-audit
check "kill -9 of the owner: it ends" wait_for 30 ended
check "the firmware answers after kill -9" answers "$bdf"

fencing "$healthy_name" unbound
check "another is at work" wait_for 60 at_work
sleep 8
check "unbound under it" unbind "$bdf"
check "and it ends" wait_for 120 ended

fencing "$broken_name" broken
check "an internal error under it: it ends" wait_for 200 ended
