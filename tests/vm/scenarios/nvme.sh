# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: NVMe over RDMA between two functions of mlx5_core, a file system on it, and
# leases of ours that are revoked meanwhile: by DevX on these two, over VFIO on a third.

lease_serve="tools/lease_serve/lease-serve -l 0 --no-huge -m 64 --no-shconf"

mounts() { mount -t ext4 $disk /host/mnt; }

# written NAME: what fio wrote all over a file is what it reads then.
written() {
  on_host fio --name=store --directory=/mnt --size=4m --bs=4k --rw=randwrite --direct=1 \
    --ioengine=libaio --iodepth=4 --verify=crc32c --verify_fatal=1 --randrepeat=0 \
    >"/host/results/fio_$1.txt" 2>&1 && return
  tail -n 5 "/host/results/fio_$1.txt"
  return 1
}
# What fio says it came to, of an emulated device on whatever machine this is.
throughput() { grep -Eo "(READ|WRITE): bw=[^ ]+" "/host/results/fio_$1.txt"; }
writes_on() {
  while [ ! -e /host/results/enough ]; do
    written "$1" || return 1
    echo "$1" >>/host/results/written.txt
  done
}
times_written() { grep -c "^$1$" /host/results/written.txt; }
has_written() { test "$(times_written "$1")" -ge "$2"; }
# beside NAME COMMAND ..: COMMAND while fio writes the file and reads it back, before and after too.
beside() {
  load=$1
  shift
  rm -f /host/results/enough
  echo "$load:" >>/host/results/written.txt
  writes_on "$load" &
  writer=$!
  wait_for 120 has_written "$load" 1
  "$@"
  beside_status=$?
  wait_for 120 has_written "$load" $(($(times_written "$load") + 1))
  touch /host/results/enough
  wait $writer && test $beside_status -eq 0
}

# audit DEVICE: leases of ours there by DevX, each revoked under load.
audit() {
  on_host tools/fence_audit/fence-audit "$1" --fences 16 >"/host/results/audit_$1.txt" 2>&1
  grep -Eq "^verdict: (the fence held|no evidence: nothing was late)" "/host/results/audit_$1.txt"
}
# A lease of the third function, written to by verbs of the first one's, and revoked.
revoked() {
  on_host $lease_serve -a "$(hca 2)" -- --device "$(hca 2)" --address 192.0.2.3 --listen 7471 \
    --plan nak-first --timeout 14 --revoke-after-ms 500 --watch-ms 1500 \
    --json /results/lease.serve.json >/host/results/lease.serve.txt 2>&1 </dev/null &
  server=$!
  on_host tools/lease_verify/lease-verify --server 127.0.0.1:7471 --device $device --gid-index 1 \
    --revoke-test --json /results/lease.verify.json >/host/results/lease.verify.txt 2>&1 ||
    grep -q "2000 ms budget NOT met" /host/results/lease.verify.txt
  client_status=$?
  cat /host/results/lease.verify.txt
  wait $server && test $client_status -eq 0
}

modprobe -a vfio_iommu_type1 vfio-pci crc32c_generic ext4
check "vfio-pci binds the third function" bind_to "$(hca 2)" vfio-pci
modprobe mlx5_core
check "two interfaces" two_interfaces
check "the third one is reached by the first" on_host ip route add 192.0.2.3 dev hca0
load_mlx5_ib
check "the other port is ACTIVE" wait_for 20 other_is_active
modprobe brd rd_nr=1 rd_size=65536
modprobe -a nvmet nvmet-rdma nvme-rdma
check "nvmet-rdma offers a RAM disk" offer_disk /dev/ram0
check "nvme-rdma finds it" connects
check "a file system" on_host mkfs.ext4 -q $disk
mkdir -p /host/mnt
check "it is mounted" mounts
check "fio" written alone
throughput alone
check "beside leases by DevX on the initiator's function" beside initiator audit $device
check "beside leases by DevX on the target's function" beside target audit $other
check "beside a lease of a third function on the wire" beside third revoked
check "it is unmounted" umount /host/mnt
check "fsck finds nothing" on_host fsck.ext4 -fn $disk
check "nvme-rdma lets go" disconnects
check "and finds it again" connects
check "it is mounted again" mounts
check "the file is there" test -s /host/mnt/store.0.0
check "fio after that" written again
throughput again
umount /host/mnt
check "nvme-rdma lets go again" disconnects
check "nvmet-rdma withdraws the disk" withdraw
