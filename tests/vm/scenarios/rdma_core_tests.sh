# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: rdma-core's own tests over mlx5_ib, on a port of $port_type. What each of them
# should come to is judged on the host. Those of the RDMA CM need an IP address: on InfiniBand
# opensm and ib_ipoib run beside them, on Ethernet the port has its network interface.

suite() {
  limit_s=5000
  on_host python3 -B "$SOURCE/tests/vm/rdma_core_suite.py" --device $device \
    --results /results/suite
}

starts_ib() {
  modprobe ib_umad
  runs_opensm
  check "opensm makes its port ACTIVE" wait_for 120 is_active
  modprobe ib_ipoib
  check "an interface of it" ip_over_ib ib0 192.0.2.1
}
ends_ib() {
  check "ib_ipoib goes" rmmod rdma_ucm ib_ipoib
  kill $opensm
  wait $opensm
}
starts_eth() {
  check "an interface of it" interface 0 hca0 192.0.2.1
  check "its port is ACTIVE" wait_for 120 is_active
}
ends_eth() { check "the RDMA CM goes" rmmod rdma_ucm; }

limit_s=120
mount -t debugfs debugfs /sys/kernel/debug
echo 32 >/proc/sys/vm/nr_hugepages  # of 2 MiB, which some tests ask for
modprobe mlx5_core
bdf=$(hca 0)
check "mlx5_core binds the function" bound_to "$bdf" mlx5_core
modprobe mlx5_ib
modprobe ib_uverbs
check "mlx5_ib registers $device" wait_for 20 has_device
"starts_$port_type"
modprobe rdma_ucm
on_host ibv_devinfo -v -d $device >/host/results/devinfo.txt 2>&1
check "the suite ends" suite
check "the port is ACTIVE after it" is_active
check "the firmware answers after it" answers "$bdf"
"ends_$port_type"
check "unbinds" unbind "$bdf"
