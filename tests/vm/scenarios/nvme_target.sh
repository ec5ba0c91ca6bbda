# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest, before nvme.sh and nvme_pi.sh: a disk by Linux's NVMe over RDMA, offered by the
# second function and found by the first.

target=/sys/kernel/config/nvmet
disk=/dev/nvme0n1

# offer_disk DEVICE [protected]: for whoever asks 192.0.2.2; protection information goes with it.
offer_disk() {
  mount -t configfs configfs /sys/kernel/config
  mkdir $target/subsystems/store || return 1
  [ -z "${2:-}" ] || echo 1 >$target/subsystems/store/attr_pi_enable
  echo 1 >$target/subsystems/store/attr_allow_any_host
  mkdir $target/subsystems/store/namespaces/1 || return 1
  echo "$1" >$target/subsystems/store/namespaces/1/device_path
  echo 1 >$target/subsystems/store/namespaces/1/enable
  mkdir $target/ports/1
  [ -z "${2:-}" ] || echo 1 >$target/ports/1/param_pi_enable
  echo rdma >$target/ports/1/addr_trtype
  echo ipv4 >$target/ports/1/addr_adrfam
  echo 192.0.2.2 >$target/ports/1/addr_traddr
  echo 4420 >$target/ports/1/addr_trsvcid
  ln -s $target/subsystems/store $target/ports/1/subsystems/store
}
withdraw() {
  rm $target/ports/1/subsystems/store && rmdir $target/ports/1 &&
    rmdir $target/subsystems/store/namespaces/1 && rmdir $target/subsystems/store
}
# connects [OPTION]: one more of nvme-fabrics.
connects() {
  asked="transport=rdma,traddr=192.0.2.2,host_traddr=192.0.2.1,trsvcid=4420,nqn=store"
  echo "$asked,nr_io_queues=2${1:+,$1}" >/dev/nvme-fabrics && wait_for 30 test -b $disk
}
disconnects() {
  echo 1 >/sys/class/nvme/nvme0/delete_controller && wait_for 30 test ! -e $disk
}
