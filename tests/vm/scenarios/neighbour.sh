# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: our driver answers for its port, and the guest's kernel asks and judges. No
# neighbour is entered by hand.

lease_serve="tools/lease_serve/lease-serve -l 0 --no-huge -m 64 --no-shconf"
ours=192.0.2.1
ours6=fe80::50:43ff:fe00:1
theirs=192.0.2.2
our_mac=02:50:43:00:00:01
their_mac=02:50:43:00:00:02

# serve ADDRESS: a lease of ours, in the background.
serve() {
  : >/host/results/serve.txt
  on_host $lease_serve -a "$bdf" -- --device "$bdf" --address "$1" --listen 7471 --watch-ms 100 \
    >>/host/results/serve.txt 2>&1 </dev/null &
  server=$!
}
is_up() { grep -q '^awaiting' /host/results/serve.txt; }
served_well() {
  wait $server
  server_status=$?
  cat /host/results/serve.txt
  return $server_status
}
# pings ARGUMENT ..: none is lost.
pings() {
  on_host ping -q -c 10 -i 0.2 -W 10 "$@" >/host/results/ping.txt 2>&1
  ping_status=$?
  grep -q ' 0% packet loss' /host/results/ping.txt && test $ping_status -eq 0 && return
  cat /host/results/ping.txt
  return 1
}
knows() { on_host ip neigh show "$1" dev "$netdev" | grep -q "lladdr $our_mac"; }
forgets() { on_host ip neigh flush dev "$netdev"; }
# Somebody who wants the address for himself hears that it is taken (RFC 4862, 5.4).
is_defended() {
  on_host ip -6 address add "$ours6/64" dev "$netdev"
  wait_for 20 on_host sh -c "ip -6 address show dev $netdev | grep -q dadfailed"
  defended=$?
  on_host ip -6 address del "$ours6/64" dev "$netdev"
  return $defended
}
verify() { on_host tools/lease_verify/lease-verify --server 127.0.0.1:7471 "$@"; }

modprobe -a vfio_iommu_type1 vfio-pci virtio_net crc32_generic ib_uverbs rdma_rxe
bdf=$(hca 0)
check "vfio-pci binds the function" bind_to "$bdf" vfio-pci
netdev=$(basename "$(dirname "$(grep -l $their_mac /sys/class/net/*/address)")")
ifconfig "$netdev" $theirs netmask 255.255.255.0 up
check "soft-RoCE on $netdev" on_host rdma link add rxe0 type rxe netdev "$netdev"

serve $ours
wait_for 60 is_up
forgets
check "ping over IPv4, address resolution first" pings $ours
check "the kernel knows our MAC" knows $ours
check "full frames" pings -s 1472 -M do $ours
forgets
check "bytes of soft-RoCE in our region" verify
check "the server is content" served_well

serve $ours6
wait_for 60 is_up
forgets
check "ping over IPv6, solicitation first" pings "$ours6%$netdev"
check "the kernel knows our MAC by IPv6" knows $ours6
check "duplicate address detection hears us" is_defended
forgets
check "bytes of soft-RoCE in our region by IPv6" verify --gid-index 0
check "the server is content after IPv6" served_well
