# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: rdma_rxe on the NIC, our driver on the function, one wire between them.

lease_serve="tools/lease_serve/lease-serve -l 0 --no-huge -m 64 --no-shconf"
roce_peer="tools/roce_peer/roce-peer -l 0 --no-huge -m 64 --no-shconf"
fence_audit="tools/fence_audit/fence-audit -l 0 --no-huge -m 64 --no-shconf"
lease_verify=tools/lease_verify/lease-verify
ours=192.0.2.1
address=$ours
ours6=fe80::50:43ff:fe00:1
theirs=192.0.2.2
their_mac=02:50:43:00:00:02

# serve NAME ARGUMENT ..: leases of ours, in the background.
serve() {
  served=$1
  shift
  on_host $lease_serve -a "$bdf" -- --device "$bdf" --address "$address" --listen 7471 \
    --json "/results/$served.serve.json" "$@" >"/host/results/$served.serve.txt" 2>&1 </dev/null &
  server=$!
}
# verify NAME ARGUMENT ..: their client on soft-RoCE.
verify() {
  verified=$1
  shift
  on_host $lease_verify --server 127.0.0.1:7471 "$@" >"/host/results/$verified.verify.txt" 2>&1
  client_status=$?
  cat "/host/results/$verified.verify.txt"
  return $client_status
}
# The server has ended and is content.
served_well() {
  wait $server
  server_status=$?
  cat "/host/results/$served.serve.txt"
  return $server_status
}

data() {
  serve data --access "$1" --watch-ms 100
  verify data && served_well
}
# The port's link-local address, which lease-serve takes when it is given none.
data_by_ipv6() {
  address=$ours6
  serve data6 --dscp 26 --watch-ms 100
  address=$ours
  verify data6 --gid-index 0 && served_well
}
# Both ends on VLAN 5, whose device lies over the NIC of soft-RoCE and whose address is one of
# rxe0's. Nobody told it of a neighbour: our port answers there too.
data_on_vlan() {
  on_host ip link add link "$netdev" name tagged type vlan id 5 &&
    on_host ip link set tagged up && on_host ip addr add 198.51.5.2/24 dev tagged || return 1
  gid=$(wait_for 30 gid_index rxe0 c633:0502) || return 1
  address=198.51.5.1
  serve vlan --vlan 5 --priority 3 --watch-ms 100
  address=$ours
  verify vlan --gid-index "$gid" && served_well
}
exchange() { on_host python3 -B "$SOURCE/tests/vm/rdma_exchange.py" "$@" --mac $their_mac; }
peer() { on_host $roce_peer -a "$bdf" -- --device "$bdf" --address $ours "$@"; }

# perftest RIGHTS COMMAND ..: perftest on soft-RoCE against a lease of ours, with $fill in it.
fill=
perftest() {
  rights=$1
  tool=$2
  shift
  serve "$tool" --access "$rights" --watch-ms 100 --dump "/results/$tool.region" $fill
  exchange perftest-client --ours 7471 --tool 18515 >"/host/results/$tool.lease.txt" &
  exchanger=$!
  wait_for 300 listens 18515
  on_host "$@" -d rxe0 -x 1 -F -p 18515 127.0.0.1 2>&1 | tee "/host/results/$tool.txt"
  wait $exchanger
  exchange_status=$?
  served_well && test $exchange_status -eq 0
}
listens() { chroot /host ss -Hltn "sport = :$1" | grep -q .; }

# ibv_rc_pingpong on soft-RoCE, and roce-peer: who sends first?
tool_sends_first() {
  exchange ping-pong-client --ours 7472 --tool 18516 &
  exchanger=$!
  peer --server 127.0.0.1:7472 --ping-pong --messages 200 &
  our_peer=$!
  wait_for 300 listens 18516
  on_host ibv_rc_pingpong -d rxe0 -g 1 -n 200 -p 18516 127.0.0.1
  tool_status=$?
  wait $our_peer
  our_status=$?
  wait $exchanger && test $tool_status -eq 0 && test $our_status -eq 0
}
peer_sends_first() {
  on_host ibv_rc_pingpong -d rxe0 -g 1 -n 200 -p 18517 &
  tool=$!
  exchange ping-pong-server --ours 7472 --tool 18517 &
  exchanger=$!
  peer --server 127.0.0.1:7472 --ping-pong --first --messages 200
  our_status=$?
  wait $tool
  tool_status=$?
  wait $exchanger && test $tool_status -eq 0 && test $our_status -eq 0
}
# Memory of soft-RoCE, asked for by our driver.
their_memory() {
  exchange grant --ours 7472 &
  exchanger=$!
  peer --server 127.0.0.1:7472
  our_status=$?
  wait $exchanger && test $our_status -eq 0
}

# Five samples; the client's budget at timeout 14 runs out while the region is watched.
revoke() {
  serve "$1-$2" --leases 5 --plan "$1" --timeout "$2" --revoke-after-ms 500 --watch-ms 1500
  for sample in 1 2 3 4 5; do
    # A machine with other work to do may be late; how long it took is judged from the files.
    verify "$1-$2-$sample" --revoke-test --json "/results/$1-$2-$sample.verify.json" ||
      grep -q "2000 ms budget NOT met" "/host/results/$1-$2-$sample.verify.txt" || return 1
  done
  served_well
}

# captured PLAN OP: one lease and its revoke, with what went through their client's NIC captured
# there, which failover-check makes a dump of.
captured() {
  capture=captured-$1
  on_host sh -c "echo \$\$ >/results/$capture.pid; exec dumpcap -q -i $netdev \
    -w /results/$capture.pcapng" 2>"/host/results/$capture.txt" &
  capturer=$!
  wait_for 300 grep -q "^Capturing on" "/host/results/$capture.txt" || return 1
  serve "$capture" --access write+atomic --plan "$1" --timeout 12 --revoke-after-ms 500 \
    --watch-ms 500 --dump "/results/$capture.region"
  verify "$capture" --revoke-test --op "$2" --json "/results/$capture.verify.json" ||
    grep -q "2000 ms budget NOT met" "/host/results/$capture.verify.txt" || return 1
  served_well || return 1
  kill "$(cat "/host/results/$capture.pid")"
  wait $capturer
}

# audit PLAN OP: their client is the load, lease after lease, and two witnesses watch ours.
audit() {
  on_host $fence_audit -a "$bdf" -- "$bdf" --address $ours --listen 7471 --plan "$1" --fences 4 \
    --timeout 12 --retry 6 --watch-ms 300 --json "/results/audit-$1.json" \
    >"/host/results/audit-$1.txt" 2>&1 </dev/null &
  auditor=$!
  for sample in 1 2 3 4; do
    verify "audit-$1-$sample" --revoke-test --op "$2" ||
      grep -q "2000 ms budget NOT met" "/host/results/audit-$1-$sample.verify.txt" || break
  done
  wait $auditor
  auditor_status=$?
  cat "/host/results/audit-$1.txt"
  test $auditor_status -eq 0 && \
    grep -q '"fences": 4, "under_load": 4,' "/host/results/audit-$1.json"
}

modprobe -a vfio_iommu_type1 vfio-pci virtio_net crc32_generic ib_uverbs rdma_rxe 8021q
bdf=$(hca 0)
check "vfio-pci binds the function" bind_to "$bdf" vfio-pci
netdev=$(nic_of $their_mac)
ifconfig "$netdev" $theirs netmask 255.255.255.0 up
check "soft-RoCE on $netdev" on_host rdma link add rxe0 type rxe netdev "$netdev"
check "bytes of soft-RoCE in our region" data write+read+atomic
check "the same by IPv6" data_by_ipv6
check "the same on a VLAN" data_on_vlan
check "ib_write_bw" perftest write ib_write_bw -n 500 -s 4096
dd if=/dev/urandom of=/host/results/fill bs=4096 count=16 2>/dev/null
fill="--fill /results/fill"
check "ib_read_bw" perftest read ib_read_bw -n 500 -s 4096
fill=
check "ib_atomic_bw" perftest atomic ib_atomic_bw -n 500
check "ibv_rc_pingpong, which sends first" tool_sends_first
check "ibv_rc_pingpong, our driver sends first" peer_sends_first
check "our bytes in a region of soft-RoCE" their_memory
for plan in seed nak-first; do
  for timeout in 8 12 14; do
    check "revoke by $plan at timeout $timeout" revoke $plan $timeout
  done
done
check "revoke by seed under FETCH_ADDs, captured" captured seed fetch-add
check "revoke by nak-first under WRITEs, captured" captured nak-first write
check "fence-audit of nak-first under WRITEs of lease-verify" audit nak-first write
check "fence-audit of indirect under WRITEs of lease-verify" audit indirect write
check "fence-audit of seed under READs of lease-verify" audit seed read
