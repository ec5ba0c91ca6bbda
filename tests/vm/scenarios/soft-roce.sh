# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: rdma_rxe on the NIC, our driver on the function, one wire between them.

lease_serve="tools/lease_serve/lease-serve -l 0 --no-huge -m 64 --no-shconf"
lease_verify=tools/lease_verify/lease-verify
ours=192.0.2.1
theirs=192.0.2.2
our_mac=02:50:43:00:00:01
their_mac=02:50:43:00:00:02

# lease NAME "SERVER ARGUMENT .." CLIENT ARGUMENT ..: a lease of ours and its client on soft-RoCE;
# passes when both are content.
lease() {
  lease_name=$1
  lease_arguments=$2
  shift 2
  on_host $lease_serve -a "$bdf" -- --device "$bdf" --address $ours --listen 7471 \
    --json "/results/$lease_name.serve.json" $lease_arguments \
    >"/host/results/$lease_name.serve.txt" 2>&1 </dev/null &
  server=$!
  on_host $lease_verify --server 127.0.0.1:7471 "$@" >"/host/results/$lease_name.verify.txt" 2>&1
  client_status=$?
  wait $server
  server_status=$?
  cat "/host/results/$lease_name.verify.txt" "/host/results/$lease_name.serve.txt"
  test $client_status -eq 0 && test $server_status -eq 0
}

revoke() {
  lease "$1-$2" "--plan $1 --timeout $2 --revoke-after-ms 1000 --watch-ms 3000" \
    --revoke-test --json "/results/$1-$2.verify.json"
}

modprobe -a vfio_iommu_type1 vfio-pci virtio_net crc32_generic ib_uverbs rdma_rxe
bdf=$(hca 0)
check "vfio-pci binds the function" bind_to "$bdf" vfio-pci
netdev=$(basename "$(dirname "$(grep -l $their_mac /sys/class/net/*/address)")")
ifconfig "$netdev" $theirs netmask 255.255.255.0 up
check "soft-RoCE on $netdev" on_host rdma link add rxe0 type rxe netdev "$netdev"
on_host ip neigh replace $ours lladdr $our_mac dev "$netdev"
check "bytes of soft-RoCE in our region" lease data "--access write --watch-ms 100"
for plan in seed nak-first; do
  for timeout in 8 12 14; do
    check "revoke by $plan at timeout $timeout" revoke $plan $timeout
  done
done
