# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: NVMe over RDMA between two functions of mlx5_core, with protection information
# of T10 on every block of the disk. Where the initiator's memory has it, the function checks what
# is there and on the wire. Where it has not, the function adds it on the way out and takes it out
# on the way in (nvme_rdma_set_sig_attrs of drivers/nvme/host/rdma.c).

integrity=/sys/block/nvme0n1/integrity

# A SCSI disk of the kernel's own with protection of type 1.
has_scsi_disk() { ls /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block 2>&1; }
offer() {
  modprobe sd_mod
  modprobe scsi_debug dev_size_mb=16 sector_size=512 dif=1 dix=1 && wait_for 20 has_scsi_disk &&
    scsi=$(has_scsi_disk) && offer_disk "/dev/$scsi" protected
}
is_protected() { grep -q T10-DIF-TYPE1-CRC $integrity/format; }

# written NAME WORD ..: what fio wrote all over the disk is what it reads then.
written() {
  written_as=$1
  shift
  on_host fio --name=store --filename=$disk --size=4m --rw=randwrite --direct=1 \
    --ioengine=libaio --iodepth=4 --verify=crc32c --verify_fatal=1 --randrepeat=0 "$@" \
    >"/host/results/fio_$written_as.txt" 2>&1 && return
  tail -n 5 "/host/results/fio_$written_as.txt"
  return 1
}
reads() {
  on_host fio --name=store --filename=$disk --size=4m --bs=64k --rw=read --direct=1 \
    --ioengine=libaio --iodepth=4 >/host/results/fio_reads.txt 2>&1
}
in_memory() { echo "$1" >$integrity/write_generate && echo "$1" >$integrity/read_verify; }

modprobe crc32c_generic
modprobe mlx5_core
check "two interfaces" two_interfaces
load_mlx5_ib
check "the other port is ACTIVE" wait_for 20 other_is_active
modprobe -a nvmet nvmet-rdma nvme-rdma
check "nvmet-rdma offers a protected disk" offer
# A queue of the 128 that nvme-rdma asks for would need more send WQEs than log_max_qp_sz has: each
# request registers data, protection and both (rdma_rw_init_qp of core/rw.c).
check "nvme-rdma finds it" connects queue_size=32
check "its blocks are protected" is_protected
check "fio with protection in memory, a page at a time" written memory --bs=4k
check "and 64 KiB at a time" written memory_64k --bs=64k
check "none in memory" in_memory 0
check "fio with protection on the wire alone" written wire --bs=4k
check "and 64 KiB at a time" written wire_64k --bs=64k
check "in memory again" in_memory 1
check "fio reads what the function added" reads
check "nvme-rdma lets go" disconnects
check "nvmet-rdma withdraws the disk" withdraw
