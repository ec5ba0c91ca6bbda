# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: leased on the function, and many clients on rdma_rxe at once.

clients="1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"
ours=192.0.2.1
theirs=192.0.2.2
our_mac=02:50:43:00:00:01
their_mac=02:50:43:00:00:02
folder=/run/portcullis
socket=$folder/leased.sock
pki=$folder/pki

leasectl() { on_host tools/leasectl/leasectl --socket $socket "$@"; }

# Those whose number is a multiple of four ask over QUIC.
make_certificates() {
  leasectl pki init $pki && leasectl pki issue $pki $pki/server --server 127.0.0.1 &&
    leasectl pki issue $pki $pki/client --client 0:client
}
configure() {
  cat >/host$folder/leased.toml <<END
[device]
name = "$bdf"
address = "$ours"
eal = ["-l", "0", "--no-huge", "-m", "64", "--no-shconf", "--no-telemetry", "-a", "$bdf"]
plan = "nak-first"
slots = 128
grace_ms = 500
[socket]
path = "$socket"
[journal]
path = "$folder/journal"
[limits]
default_ttl_ms = 120000
challenge_ms = 60000
[quic]
listen = "127.0.0.1:7810"
authority = "$pki/ca.pem"
certificate = "$pki/server.pem"
key = "$pki/server.key"
END
}
serves() { leasectl status >/dev/null 2>&1; }
serve() {
  on_host tools/leased/leased --config $folder/leased.toml \
    >/host/results/leased.txt 2>&1 </dev/null &
  server=$!
  wait_for 60 serves
}
# Every lease has its outcome, and it ends content.
end_server() {
  killall -TERM leased
  wait $server
  server_status=$?
  cat /host/results/leased.txt
  test $server_status -eq 0
}

# client NAME NUMBER ARGUMENT ..: a lease-verify in the background; its status goes to a file.
client() {
  name=$1-$2
  where="--leased $socket"
  test $(($2 % 4)) -ne 0 ||
    where="--leased quic://127.0.0.1:7810 --authority $pki/ca.pem --certificate $pki/client.pem
           --key $pki/client.key"
  shift 2
  {
    on_host tools/lease_verify/lease-verify $where --timeout 12 "$@" \
      >"/host/results/$name.txt" 2>&1 </dev/null
    echo $? >"/host/results/$name.status"
  } &
  pids="$pids $!"
}
# The access and the operation of a number's client, so that each kind is there.
kind_of() {
  case $(($1 % 3)) in
    0) echo "--access write+read --op write" ;;
    1) echo "--access write+read --op read" ;;
    2) echo "--access write+read+atomic --op fetch-add" ;;
  esac
}
well() {
  for number in $clients; do
    test "$(cat "/host/results/$1-$number.status")" = 0 && continue
    tail -n 3 "/host/results/$1-$number.txt"
    return 1
  done
}
data() {
  pids=
  for number in $clients; do
    client data $number --rounds 1 --bytes 16384 --access write+read+atomic
  done
  wait $pids
  well data
}
# One half stops at the word, the other goes on.
revoke() {
  pids=
  for number in $clients; do
    mode=--cooperate
    test $(($number % 8)) -lt 4 || mode=--revoke-test
    client revoke $number $mode $(kind_of $number) --depth 2 --json "/results/revoke-$number.json"
  done
  wait_for 60 all_met || return 1
  sleep 2  # of load
  leasectl --json list >/host/results/list.txt
  leasectl --json revoke-tenant 0 >/host/results/revoked.txt
  revoke_status=$?
  cat /host/results/revoked.txt
  wait $pids
  test $revoke_status -eq 0
}
all_met() { test "$(grep -l '^challenge *met' /host/results/revoke-*.txt | wc -l)" -eq 16; }

# Two shards of keys, taken back twice under load.
key_value_store() {
  on_host docs/examples/example-kv-store --server $socket --server $socket --log $folder/kv \
    --keys 24 --for-ms 12000 --least-revokes 4 >/host/results/kv.txt 2>&1 </dev/null &
  store=$!
  for time in 1 2; do
    wait_for 30 holds 2 || break
    sleep 1
    leasectl revoke-tenant 0
  done
  wait $store
  store_status=$?
  cat /host/results/kv.txt
  test $store_status -eq 0
}
holds() { test "$(leasectl --json list | grep -c '"ACTIVE"')" -eq "$1"; }

modprobe -a vfio_iommu_type1 vfio-pci virtio_net crc32_generic ib_uverbs rdma_rxe
bdf=$(hca 0)
check "vfio-pci binds the function" bind_to "$bdf" vfio-pci
netdev=$(basename "$(dirname "$(grep -l $their_mac /sys/class/net/*/address)")")
ifconfig "$netdev" $theirs netmask 255.255.255.0 up
check "soft-RoCE on $netdev" on_host rdma link add rxe0 type rxe netdev "$netdev"
on_host ip neigh replace $ours lladdr $our_mac dev "$netdev"
mkdir -m 755 /host$folder
check "certificates of leasectl" make_certificates
configure
check "leased serves the function" serve
check "16 clients write and read at once" data
check "16 clients are taken from in one revoke" revoke
check "the key-value store loses nothing in two revokes" key_value_store
check "SIGTERM ends leased" end_server
