# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: the second function serves RAM disks, the first one's side uses them, by NFS
# over RDMA, by iSER, by SRP.

source=/source
lio=/sys/kernel/config/target

# leaves_by INTERFACE: what names no source of its own leaves there, too, as NFS and iSER do.
leaves_by() {
  on_host ip route replace 192.0.2.2 dev "$1" src 192.0.2.1 table 101 &&
    on_host ip rule add pref 11 iif lo to 192.0.2.2 lookup 101
}

# copied FOLDER: a file that is copied there is what it was, also when nothing of it is in memory.
copied() {
  cp $source "/host$1/copy" && sync && echo 3 >/proc/sys/vm/drop_caches &&
    cmp $source "/host$1/copy"
}
# written NAME WORD ..: what fio wrote all over a file or a disk is what it reads then.
written() {
  written_as=$1
  shift
  on_host fio --name=store --size=6m --rw=randwrite --ioengine=libaio --iodepth=8 \
    --verify=crc32c --verify_fatal=1 --randrepeat=0 "$@" \
    >"/host/results/fio_$written_as.txt" 2>&1 && return
  tail -n 5 "/host/results/fio_$written_as.txt"
  return 1
}
# holds NAME: a file system on $disk keeps a file, and what fio writes in pieces of any size.
holds() {
  test -b "$disk" && on_host mkfs.ext4 -q -F $disk 2>/dev/null &&
    mount -t ext4 $disk /host/mnt && copied /mnt &&
    written "$1" --directory=/mnt --direct=1 --bsrange=512-512k
  held=$?
  umount /host/mnt && on_host fsck.ext4 -fn $disk >"/host/results/fsck_$1.txt" 2>&1 &&
    test $held -eq 0
}
finds_disk() {
  disk=$(ls -d /sys/block/sd* 2>/dev/null | sed -n '1s|/sys/block|/dev|p')
  test -b "$disk"
}
lost_disk() { ! finds_disk; }

# exports: /export, for version 4 alone, which needs no other service. What mountd would tell the
# kernel of each client, path and file handle is told here (svc_export_parse, expkey_parse of
# fs/nfsd/export.c; flags of linux/nfsd/export.h: INSECURE_PORT, NOSUBTREECHECK, FSID).
exports() {
  ever=4102444800
  mount -t nfsd nfsd /proc/fs/nfsd && echo 10 >/proc/fs/nfsd/nfsv4gracetime &&
    echo "-3 +4" >/proc/fs/nfsd/versions && echo "rdma 20049" >/proc/fs/nfsd/portlist &&
    echo 4 >/proc/fs/nfsd/threads &&
    echo "nfsd 192.0.2.1 $ever *" >/proc/net/rpc/auth.unix.ip/channel &&
    echo "* /export $ever $((0x2 + 0x400 + 0x2000)) 65534 65534 0" \
      >/proc/net/rpc/nfsd.export/channel &&
    echo "* 1 \\x00000000 $ever /export" >/proc/net/rpc/nfsd.fh/channel
}
# mounts MINOR: the busy client's callbacks come back over the same connection from 4.1 on.
mounts() {
  on_host mount -i -t nfs4 192.0.2.2:/ /mnt -o \
    "addr=192.0.2.2,clientaddr=192.0.2.1,vers=4.$1,proto=rdma,port=20049,sec=sys" &&
    grep -q "192.0.2.2:/ /host/mnt nfs4 .*proto=rdma" /proc/mounts
}
is_exported() { cmp $source /export/copy; }
withdraws() {
  echo 0 >/proc/fs/nfsd/threads && umount /proc/fs/nfsd && umount /export
}

# lets INITIATOR: it may have $store, by $group of a target. lets_none: nobody may any more.
# An initiator that is named is waited for then (core_tpg_del_initiator_node_acl of
# target/target_core_tpg.c); of one that just came a session outlives its group and hangs the guest.
lets() {
  mkdir "$group/lun/lun_0" && ln -s "$store" "$group/lun/lun_0/store" &&
    mkdir "$group/acls/$1" "$group/acls/$1/lun_0" &&
    ln -s "$group/lun/lun_0" "$group/acls/$1/lun_0/store" && echo 1 >"$group/enable"
}
lets_none() {
  rm "$group"/acls/*/lun_0/store && rmdir "$group"/acls/*/lun_0 "$group"/acls/* &&
    echo 0 >"$group/enable" && rm "$group/lun/lun_0/store" && rmdir "$group/lun/lun_0"
}

# offers_protected: 32 MiB of memory with protection information of type 1, by iSER.
iqn=iqn.2026-11.example
offers_protected() {
  store=$lio/core/rd_mcp_0/protected
  mkdir -p $store && echo rd_pages=8192 >$store/control && echo 1 >$store/enable &&
    echo 1 >$store/attrib/pi_prot_type || return 1
  group=$lio/iscsi/$iqn:store/tpgt_1
  mkdir -p $group && echo 1 >$group/attrib/t10_pi && echo 0 >$group/attrib/authentication &&
    mkdir $group/np/192.0.2.2:3260 && echo 1 >$group/np/192.0.2.2:3260/iser &&
    lets $iqn:initiator
}
withdraws_protected() {
  lets_none && rmdir $group/np/192.0.2.2:3260 $group "${group%/*}" $store
}
# runs_iscsid: as a daemon, which ends with the guest.
runs_iscsid() {
  mkdir -p "/host$TREE/run/lock/iscsi"
  echo InitiatorName=$iqn:initiator >"/host$TREE/etc/iscsi/initiatorname.iscsi"
  in_tree /usr/sbin/iscsid && wait_for 20 test -s "/host$TREE/run/iscsid.pid"
}
node() { in_tree timeout 100 /usr/sbin/iscsiadm -m node -T $iqn:store -p 192.0.2.2:3260 "$@"; }
# logs_in: patiently, for on a busy machine no end answers within seconds.
logs_in() {
  node -o new -I iser || return 1
  for time in login_timeout=60 noop_out_interval=0 noop_out_timeout=0; do
    node -o update -n "node.conn[0].timeo.${time%=*}" -v ${time#*=} || return 1
  done
  node --login && wait_for 30 finds_disk
}
logs_out() { node --logout && wait_for 30 lost_disk; }
# Blocks go with the sum of IP in memory and with a CRC on the wire (iser_set_sig_attrs of
# ulp/iser/iser_memory.c), or with none in memory.
integrity() { echo "/sys/block/${disk#/dev/}/integrity"; }
sums_of_ip() { grep -q T10-DIF-TYPE1-IP "$(integrity)/format"; }
in_memory() {
  echo "$1" >"$(integrity)/write_generate" && echo "$1" >"$(integrity)/read_verify"
}

# offers_plain: a RAM disk by SRP, at port 7777 of the RDMA CM, to the initiator of that port GUID
# (srpt_cm_req_recv of ulp/srpt/ib_srpt.c).
offers_plain() {
  store=$lio/core/iblock_0/plain
  mkdir -p $store && echo udev_path=/dev/ram1 >$store/control && echo 1 >$store/enable || return 1
  gid=0x$(tr -d : </sys/class/infiniband/$other/ports/1/gids/0)
  group=$lio/srpt/$gid/$gid
  mkdir -p $group && echo 7777 >$lio/srpt/discovery_auth/rdma_cm_port &&
    lets "0x0000000000000000$(guid_of $device)"
}
withdraws_plain() { lets_none && rmdir $group "${group%/*}" $store; }
# finds_target [OPTION]: one more of ib_srp, which a while after it left a target does not take it.
asks_target() {
  guid=$(cat /sys/module/ib_srpt/parameters/srpt_service_guid)
  guid=${guid#0x}
  echo "id_ext=$guid,ioc_guid=$guid,dest=192.0.2.2:7777,src=192.0.2.1${1:+,$1}" \
    >/sys/class/infiniband_srp/srp-$device-1/add_target 2>/dev/null
}
finds_target() { wait_for 20 asks_target "$@" && wait_for 30 finds_disk; }
# leaves_target: the disk goes first, the connection later (srp_remove_target of ulp/srp/ib_srp.c).
has_left() { ! on_host rdma resource show qp link $device | grep -q "type RC"; }
leaves_target() {
  on_host rdma resource show qp link $device >/host/results/qps.txt
  grep -q "type RC" /host/results/qps.txt || return 1
  for port in /sys/class/srp_remote_ports/*; do echo 1 >"$port/delete" || return 1; done
  wait_for 30 lost_disk && wait_for 30 has_left
}
is_the_targets() { test -b "$disk" && on_host cmp -n 67108864 $disk /dev/ram1; }

modprobe mlx5_core
check "two interfaces" two_interfaces
check "the way of what names no source" leaves_by hca0
load_mlx5_ib
check "the other port is ACTIVE" wait_for 20 other_is_active
modprobe brd rd_nr=2 rd_size=65536
modprobe -a crc32c_generic ext4 sd_mod
mkdir -p /host/mnt /export
dd if=/dev/urandom of=$source bs=1M count=12 2>/dev/null

modprobe -a nfsd nfsv4 rpcrdma
on_host mkfs.ext4 -q /dev/ram0 && mount -t ext4 /dev/ram0 /export
check "nfsd offers a folder" exports
for minor in 2 0; do
  check "NFS 4.$minor over RDMA" mounts $minor
  check "a file of it" copied /mnt
  check "is the server's" is_exported
  check "fio in pieces of any size" written nfs_$minor --directory=/mnt --direct=1 \
    --bsrange=512-1m
  check "and in none that fits a page" written nfs_odd_$minor --directory=/mnt --bsrange=512-300k \
    --bs_unaligned=1 --fsync=16 --invalidate=1
  check "it is unmounted" umount /host/mnt
done
check "nfsd withdraws it" withdraws

modprobe -a target_core_iblock iscsi_target_mod ib_isert
mount -t configfs configfs /sys/kernel/config
modprobe ib_iser pi_enable=1
check "ib_isert offers a protected disk" offers_protected
check "iscsid" runs_iscsid
check "ib_iser logs in" logs_in
check "its blocks have sums of IP" sums_of_ip
check "a file system on them" holds iser
check "none in memory" in_memory 0
check "fio with protection on the wire alone" written iser_wire --filename=$disk --direct=1 \
  --bsrange=4k-256k
check "in memory again" in_memory 1
check "fio with both" written iser_both --filename=$disk --direct=1 --bsrange=4k-256k
check "ib_iser logs out" logs_out
check "ib_isert withdraws the disk" withdraws_protected

modprobe -a ib_srpt ib_srp
check "ib_srpt offers a disk" offers_plain
check "ib_srp finds it" finds_target
check "a file system on it" holds srp
check "what it holds is the target's" is_the_targets
check "ib_srp leaves it" leaves_target
check "ib_srp finds it, with long lists of memory" finds_target \
  cmd_sg_entries=255,allow_ext_sg=1,sg_tablesize=512
check "a file system on it again" holds srp_lists
check "ib_srp leaves it again" leaves_target
check "ib_srpt withdraws the disk" withdraws_plain
