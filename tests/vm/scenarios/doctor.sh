# SPDX-License-Identifier: BSD-3-Clause
#
# One thing after the other is taken away: doctor must name it and nothing else, the driver must
# refuse in one line, and the commands that doctor prints must bring it back.
mount --bind /lib/modules /host/lib/modules
bdf=$(hca 0)
functions=/sys/bus/pci/devices

# finds STATUS CHECK ..: the lines of that status are those of these checks; opens nothing.
finds() {
  examine --no-open
  examined "$@"
}

# opens: nothing is missing, and the function came up and went down.
opens() {
  examine
  test $said_status -eq 0 && echo "$said" | grep -q '^  ok       firmware  *16\.' &&
    echo "$said" | grep -q '^  ok       tear-down ' && return
  echo "$said"
  return 1
}

# mend STATUS [CHECK]: runs the commands that doctor printed below lines of that status.
mend() {
  examine --no-open
  echo "$said" | awk -v status="$1" -v check="$2" '
    /^  [a-z]/ { on = $1 == status && (check == "" || $2 == check) }
    on && /^ *# / { sub(/^ *# /, ""); print }' >/host/tmp/mend.sh
  test -s /host/tmp/mend.sh && sed 's/^/# /' /host/tmp/mend.sh &&
    chroot /host /bin/sh -e /tmp/mend.sh
}

# driver_says TEXT: revoke_bench fails, and its last line, the only one of the EAL or the driver,
# has TEXT.
driver_says() {
  said=$(on_host bench/revoke_bench -l 0 --no-huge -m 64 --no-shconf -a "$bdf" -- \
    --device="$bdf" --quick 2>&1 </dev/null) && return 1
  echo "$said" | tail -n 1 | grep -qF -- "$1" && ! echo "$said" | grep -q EAL: && return
  echo "$said"
  return 1
}

check "without modules, they and the driver are missing" finds missing modules driver
check "the commands load and bind" mend missing
check "then the function opens, without hugepages" opens
check "hugepages and isolated CPUs are advice" finds advice hugepages isolcpus
check "the command reserves hugepages" mend advice hugepages
check "hugetlbfs is advice then" finds advice hugetlbfs isolcpus
check "the command mounts it" mend advice hugetlbfs
check "isolated CPUs are left" finds advice isolcpus
check "the function opens on hugepages" opens
echo 0 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
check "no hugepages again: only they are named" finds advice hugepages isolcpus

group=$(basename "$(readlink "$functions/$bdf/iommu_group")")
sleep 1000 9<>"/dev/vfio/$group" &
check "a group in use is missing" finds missing group-file
check "and the driver says so" driver_says "IOMMU group $group is in use by another process"
check "the command ends its user" mend missing
check "the function opens once it is gone" wait_for 5 finds missing

unbind "$bdf"
check "a function without driver is missing it" finds missing driver
check "and the driver says so" driver_says "bound to no driver; bind it to vfio-pci"
modprobe mlx5_core
check "mlx5_core takes the function" bind_to "$bdf" mlx5_core
check "mlx5_core is in the way" finds missing driver
check "and the driver says so" driver_says "bound to mlx5_core; bind it to vfio-pci"
check "the commands take it from mlx5_core" mend missing
check "then the function opens" opens

modprobe -r vfio_iommu_type1
check "VFIO without type 1 is missing it" finds missing modules
check "the command loads it" mend missing
check "then nothing is missing" finds missing

echo 1 >"$functions/$bdf/remove"
check "a function that is gone is missing" finds missing device
check "and the driver says so" driver_says "no such PCI device"
check "the command finds it again" mend missing
check "its driver is missing then" finds missing driver
check "which the commands bind" mend missing
check "then the function opens" opens

# on_host_as_nobody COMMAND ..: as a user without rights, who may lock 8 MiB.
on_host_as_nobody() {
  on_host setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --memlock=8388608:8388608 "$@"
}

# nobody_lacks CHECK ..: what is missing to that user.
nobody_lacks() {
  said=$(on_host_as_nobody tools/doctor/doctor "$bdf" --no-open)
  said_status=$?
  examined missing "$@"
}
check "a user without rights lacks the group's file and locked memory" \
  nobody_lacks group-file memlock
chown 65534 "/dev/vfio/$group"
check "locked memory alone once it has the file" nobody_lacks memlock

chmod 666 /dev/vfio/vfio
nobody_lacks_memory() {
  said=$(on_host setpriv --reuid=65534 --regid=65534 --clear-groups prlimit \
    --memlock=8388608:8388608 bench/revoke_bench -l 0 --no-huge -m 64 --no-shconf -a "$bdf" -- \
    --device="$bdf" --quick 2>&1 </dev/null) && return 1
  echo "$said" | tail -n 1 | grep -qF "raise the locked memory limit" && return
  echo "$said"
  return 1
}
check "and the driver says so" nobody_lacks_memory
examine --no-open
try=$(echo "$said" | sed -n 's/^Try: //p')
check "the command to try works" on_host sh -c "bench/$try --quick --plan=seed --leases=1"

check "malformed BDF is status 2 in one line" \
  says '"03:00" is neither a PCI address' tools/doctor/doctor 03:00
examine
echo "$said"
