# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: UCX and libfabric between two ports. One port serves, the other asks.
# No swap of UCT: it is a masked atomic, which no capability offers here (UCP does it by message).

# ucp TRANSPORT TEST [ARGUMENT ..]: a protocol of UCX over one transport.
ucp() {
  transport=$1
  test=$2
  shift 2
  ucx "ucp_${transport}_$test" "env UCX_TLS=$transport UCX_NET_DEVICES=PORT:1" -t "$test" "$@"
}

# uct TRANSPORT TEST [ARGUMENT ..]: a transport by itself.
uct() {
  transport=$1
  test=$2
  shift 2
  ucx "uct_${transport}_$test" env -x "$transport" -d PORT:1 -t "$test" "$@"
}

# fabric TYPE SUFFIX PROVIDER: libfabric's endpoint of that type; what arrives is checked.
fabric() {
  served "fi_$1" fi_pingpong -c -e "$1" -d "$other$2" -p "$3" -- \
    fi_pingpong -c -e "$1" -d "$device$2" -p "$3" 192.0.2.2
}

# Who asks names no address of its own, so the route to the other port chooses the device.
route_to_other() {
  on_host ip route replace 192.0.2.2 dev hca0 src 192.0.2.1 table 101 &&
    on_host ip rule add pref 7 iif lo to 192.0.2.2 lookup 101
}

limit_s=120
mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
check "two interfaces" two_interfaces
load_mlx5_ib
check "the other port is ACTIVE" wait_for 20 other_is_active
modprobe rdma_ucm
on_host ucx_info -d >/host/results/ucx_info.txt 2>&1
on_host fi_info -p verbs -v >/host/results/fi_info.txt 2>&1
check "the way to the other port" route_to_other
for transport in rc_verbs rc_mlx5; do
  for test in am_lat put_lat add_lat fadd cswap; do
    check "UCT $transport $test" uct $transport $test
  done
  check "UCT $transport get, zero-copy" uct $transport get -D zcopy -s 8192
  check "UCT $transport put_bw, zero-copy" uct $transport put_bw -D zcopy -s 65536
done
for transport in ud_verbs ud_mlx5; do
  check "UCT $transport am_lat" uct $transport am_lat
done
for transport in rc_v rc_x ud_v ud_x; do
  check "UCP $transport tag_lat" ucp $transport tag_lat
  check "UCP $transport tag_bw of 64 KiB" ucp $transport tag_bw -s 65536
  check "UCP $transport tag_sync_lat" ucp $transport tag_sync_lat
  check "UCP $transport stream_bw" ucp $transport stream_bw -s 4096
  check "UCP $transport ucp_am_lat" ucp $transport ucp_am_lat
done
for transport in rc_v rc_x; do
  for test in ucp_put_lat ucp_get ucp_add ucp_fadd ucp_swap ucp_cswap; do
    check "UCP $transport $test" ucp $transport $test
  done
done
check "libfabric msg" fabric msg "" verbs
check "libfabric rdm, over msg" fabric rdm "" "verbs;ofi_rxm"
check "libfabric dgram" fabric dgram -dgram verbs
check "mlx5_ib goes" rmmod rdma_ucm mlx5_ib
