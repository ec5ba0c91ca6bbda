# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: rdma_rxe on the NIC, our driver on the function, one wire between them.

lease_serve="tools/lease_serve/lease-serve -l 0 --no-huge -m 64 --no-shconf"
lease_verify=tools/lease_verify/lease-verify
ours=192.0.2.1
theirs=192.0.2.2
our_mac=02:50:43:00:00:01
their_mac=02:50:43:00:00:02

# serve NAME ARGUMENT ..: leases of ours, in the background.
serve() {
  served=$1
  shift
  on_host $lease_serve -a "$bdf" -- --device "$bdf" --address $ours --listen 7471 \
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
  serve data --access write --watch-ms 100
  verify data && served_well
}
# Three samples; the client's budget at timeout 14 runs out while the region is watched.
revoke() {
  serve "$1-$2" --leases 3 --plan "$1" --timeout "$2" --revoke-after-ms 500 --watch-ms 1500
  for sample in 1 2 3; do
    verify "$1-$2-$sample" --revoke-test --json "/results/$1-$2-$sample.verify.json" || return 1
  done
  served_well
}

modprobe -a vfio_iommu_type1 vfio-pci virtio_net crc32_generic ib_uverbs rdma_rxe
bdf=$(hca 0)
check "vfio-pci binds the function" bind_to "$bdf" vfio-pci
netdev=$(basename "$(dirname "$(grep -l $their_mac /sys/class/net/*/address)")")
ifconfig "$netdev" $theirs netmask 255.255.255.0 up
check "soft-RoCE on $netdev" on_host rdma link add rxe0 type rxe netdev "$netdev"
on_host ip neigh replace $ours lladdr $our_mac dev "$netdev"
check "bytes of soft-RoCE in our region" data
for plan in seed nak-first; do
  for timeout in 8 12 14; do
    check "revoke by $plan at timeout $timeout" revoke $plan $timeout
  done
done
