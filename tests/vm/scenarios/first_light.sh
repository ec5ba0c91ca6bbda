# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: what a person with a card does, on three functions; each once more with a client
# on another NIC of its wire, which is soft-RoCE; then killed in each step.
modprobe -a vfio_iommu_type1 vfio-pci virtio_net crc32_generic ib_uverbs rdma_rxe
kept=$(hca 0)
broken=$(hca 1)
virtual=$(hca 2)

# light BDF ARGUMENT ..
light() {
  lit=$1
  shift
  on_host tools/first_light/first-light -l 0 --no-huge -m 64 --no-shconf -a "$lit" -- "$lit" \
    --quick "$@" </dev/null
}

# concludes STATUS NAME BDF ARGUMENT ..
concludes() {
  wanted=$1
  name=$2
  shift 2
  light "$@" --bundle "/results/$name.tar.zst" >"/host/results/$name.txt" 2>&1
  came=$?
  tail -n 3 "/host/results/$name.txt"
  test $came -eq "$wanted" && return
  echo "status $came, $wanted expected"
  return 1
}

# await_client NAME RDMA_DEVICE PORT: lease-verify --sweep in the background, once it listens.
await_client() {
  on_host tools/lease_verify/lease-verify --sweep --device "$2" --listen "127.0.0.1:$3" \
    --wait-ms 120000 >"/host/results/$1-far.txt" 2>&1 </dev/null &
  far_pid=$!
  wait_for 30 grep -q awaiting "/host/results/$1-far.txt"
}
# beside STATUS NAME BDF NUMBER: the NIC at the other end of the function's wire is rxeNUMBER, and
# asks. 2: what its WRITEs change behind an outcome refutes a promise.
beside() {
  wanted=$1
  shift
  name=$1-peer
  far=rxe$3
  mac=02:50:43:00:01:0$3
  netdev=$(basename "$(dirname "$(grep -l $mac /sys/class/net/*/address)")")
  ifconfig "$netdev" "192.0.2.$((16 * $3 + 2))" netmask 255.255.255.240 up &&
    on_host rdma link add "$far" type rxe netdev "$netdev" &&
    on_host ip neigh replace "192.0.2.$((16 * $3 + 1))" lladdr 02:50:43:00:00:01 dev "$netdev" ||
    return 1
  await_client "$name" "$far" "747$3" || return 1
  light "$2" --steps bring-up,peer,end --address "192.0.2.$((16 * $3 + 1))" --revokes 1 \
    --peer "127.0.0.1:747$3" --bundle "/results/$name.tar.zst" >"/host/results/$name.txt" 2>&1
  came=$?
  tail -n 3 "/host/results/$name.txt"
  wait $far_pid
  far_status=$?
  test $came -eq "$wanted" && test $far_status -eq 0 && return
  echo "status $came, $wanted expected, and $far_status of the peer:"
  tail -n 3 "/host/results/$name-far.txt"
  return 1
}

# killed_in STEP COMMAND ARGUMENT ..: at its COMMAND-th command; a second run is clean.
killed_in() {
  step=$1
  at=$2
  shift 2
  on_host /usr/bin/env PORTCULLIS_STOP_AT="$step:$at:9" \
    tests/tools/first_light/stopped-first-light -l 0 --no-huge -m 64 --no-shconf -a "$kept" \
    -- "$kept" --quick --steps "$step" "$@" >"/host/results/killed-$step.txt" 2>&1 </dev/null
  killed_status=$?
  light "$kept" --steps bring-up,loopback,end >"/host/results/after-$step.txt" 2>&1
  test $? -eq 0 && test $killed_status -eq 137 && return
  echo "the first one's status $killed_status, 137 expected; the second one:"
  tail -n 5 "/host/results/after-$step.txt"
  return 1
}
# Once leases are granted and taken; a client whose other end was killed ends by itself.
killed_with_a_client() {
  await_client killed "rxe1" 7471 || return 1
  killed_in peer 1400 --peer 127.0.0.1:7471 --address 192.0.2.17 && wait $far_pid
  far_status=$?
  test $far_status -ne 0 && test $far_status -ne 143 && return
  echo "status $far_status of the client"
  return 1
}

check "vfio-pci binds all" eval \
  'bind_to "$kept" vfio-pci && bind_to "$broken" vfio-pci && bind_to "$virtual" vfio-pci'
check "a function that keeps its promises" concludes 0 kept "$kept" --fences 64 \
  --steps bring-up,commands,loopback,key,entries,probes,plans,end
check "one that breaks one" concludes 2 broken "$broken" --fences 64 \
  --steps bring-up,loopback,probes,audit,end
check "a virtual function" concludes 0 virtual "$virtual" \
  --steps bring-up,loopback,key,entries,probes,plans,end
check "the first, with a client on soft-RoCE" beside 0 kept "$kept" 1
check "the second" beside 2 broken "$broken" 2
check "the virtual one" beside 0 virtual "$virtual" 3
for step in bring-up commands loopback reach key entries probes plans floor audit end; do
  check "killed in step $step, and clean in the next run" killed_in $step 3
done
check "killed in step peer, and clean in the next run" killed_with_a_client
