# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: our driver on vfio-pci, in the three ways DPDK has of getting memory.
#
# Our driver over VFIO. Without hugepages DPDK puts its heap in a memfd; --in-memory on hugepages
# keeps no files; the third way is the ordinary one.
no_hugepages="-l 0 --no-huge -m 64 --no-shconf"
in_memory="-l 0 --in-memory -m 64"
with_hugepages="-l 0 -m 64 --file-prefix=scenario"

# device_test EAL_ARGUMENT ..: the tests that hold on every device, on this one.
device_test() {
  on_host env PORTCULLIS_DEVICE="$bdf" PORTCULLIS_EAL="$* -a $bdf" \
    tests/device/device_test --gtest_brief=1
}

revoke_bench() {
  on_host bench/revoke_bench "$@" -a "$bdf" -- --device="$bdf" --peer=loopback --quick \
    --plan=seed,nak-first,legacy --leases=1 --benchmark_filter=plan: --benchmark_color=false
}

# The driver in a loop under traffic, killed while it writes.
kill_in_mid_traffic() {
  chroot /host "$BUILD/bench/revoke_bench" $no_hugepages -a "$bdf" -- --device="$bdf" \
    --peer=loopback --samples=1000000 --plan=seed >/host/tmp/killed.log 2>&1 &
  victim=$!
  sleep 4
  kill -9 "$victim"
  wait "$victim"
  test $? -eq 137
}

dmar_faults() { dmesg | grep -c 'DMAR:.*fault addr\|DMAR: \[DMA'; }

fault_is_logged() {
  faults_before=$(dmar_faults)
  on_host env PORTCULLIS_DEVICE="$bdf" PORTCULLIS_EAL="$no_hugepages -a $bdf" \
    tests/device/device_test --gtest_brief=1 --gtest_filter='*SourceUnmapped*' || return 1
  test "$(dmar_faults)" -gt "$faults_before"
}

modprobe vfio-pci
bdf=$(hca 0)
check "no driver: says which to bind" says "bind it to vfio-pci" \
  bench/revoke_bench $no_hugepages -- --device="$bdf"
check "vfio-pci binds the function" bind_to "$bdf" vfio-pci
check "no IOMMU driver of VFIO: says what to load" says "vfio_iommu_type1" \
  bench/revoke_bench $no_hugepages -- --device="$bdf"
modprobe vfio_iommu_type1

check "tests without hugepages" device_test $no_hugepages
check "revoke_bench without hugepages" revoke_bench $no_hugepages
check "no other test runs into the IOMMU" test "$(dmar_faults)" -le 1
check "a DMA to an unmapped address is a DMAR fault" fault_is_logged

echo 96 >/proc/sys/vm/nr_hugepages
mount -t hugetlbfs hugetlbfs /host/dev/hugepages
check "tests in memory on hugepages" device_test $in_memory
check "revoke_bench in memory on hugepages" revoke_bench $in_memory
check "tests with hugepages" device_test $with_hugepages
check "revoke_bench with hugepages" revoke_bench $with_hugepages

check "kill -9 in mid-traffic" kill_in_mid_traffic
check "a clean start after kill -9" device_test $no_hugepages
