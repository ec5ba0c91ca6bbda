# SPDX-License-Identifier: BSD-3-Clause
#
# rdma-core's VFIO provider on the model: vfio-peer on both kinds of port, then rdma-core's tests as
# Debian's python3-pyverbs installs them.
vfio_peer=tools/vfio_peer/vfio-peer
rdma_core_tests=/usr/share/doc/rdma-core/tests

latency() { on_host $vfio_peer --device "$1" --latency >"/host/results/vfio_peer_$2.json"; }

# While one vfio-peer measures, a second one finds the group taken.
group_is_busy() {
  chroot /host "$BUILD/$vfio_peer" --device "$1" --latency --samples 10000 >/host/tmp/first.json &
  holder=$!
  wait_for 10 holds_a_group $holder
  says "is in use" $vfio_peer --device "$1"
  busy_status=$?
  kill $holder
  wait $holder
  return $busy_status
}
holds_a_group() { ls -l "/proc/$1/fd" | grep -q '/dev/vfio/[0-9]'; }

# The tests lie there packed, and import each other as modules of a package.
unpack_rdma_core_tests() {
  mkdir -p /host/tmp/rdma-core
  cp -r "/host$rdma_core_tests" /host/tmp/rdma-core/tests &&
    gunzip /host/tmp/rdma-core/tests/*.gz
}

# Both of them, and none skipped. One makes an EQ and waits for the link to come up, which a device
# does not delay until an emulated CPU has imported scapy; so that comes before the tests do.
run_tests_py="
import runpy, scapy.fields, scapy.packet
runpy.run_path('/tmp/rdma-core/tests/run_tests.py', run_name='__main__')"
rdma_core_vfio_tests() {
  on_host env PYTHONPATH=/tmp/rdma-core/tests python3 -c "$run_tests_py" -v --pci-dev "$1" \
    tests.test_mlx5_vfio >/host/tmp/rdma_core.txt 2>&1
  rdma_core_status=$?
  cat /host/tmp/rdma_core.txt
  test $rdma_core_status -eq 0 && grep -q '^Ran 2 tests' /host/tmp/rdma_core.txt &&
    grep -q '^OK$' /host/tmp/rdma_core.txt
}

modprobe vfio-pci
modprobe vfio_iommu_type1
ethernet=$(hca 0)
infiniband=$(hca 1)
check "no driver: says what to do" says "bound to no driver" $vfio_peer --device "$ethernet"
check "vfio-pci binds the Ethernet function" bind_to "$ethernet" vfio-pci
check "RC pair by RoCE address, fenced in both orders" on_host $vfio_peer --device "$ethernet"
check "the same after the provider has closed" on_host $vfio_peer --device "$ethernet"
check "latencies on Ethernet" latency "$ethernet" ethernet
check "group in use: says so" group_is_busy "$ethernet"

check "vfio-pci binds the InfiniBand function" bind_to "$infiniband" vfio-pci
check "RC pair by LID, fenced in both orders" on_host $vfio_peer --device "$infiniband"
check "rdma-core's tests are there" unpack_rdma_core_tests
check "rdma-core's own tests of the provider" rdma_core_vfio_tests "$infiniband"
check "no DMA ran into the IOMMU" test "$(dmesg | grep -c 'DMAR:.*fault addr')" -eq 0
