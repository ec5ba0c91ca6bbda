# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: DPDK's driver of ConnectX on two Ethernet ports that mlx5_ib keeps. Each port is
# sent a burst and passes on to the other what it gets, for seconds.

# forwards: for seconds.
forwards() {
  echo start tx_first
  sleep 6
  echo stop
}
# without_first_port: the same with a rule that nothing leaves the first port, then without it.
without_first_port() {
  echo flow create 0 egress pattern eth / end actions count / drop / end
  forwards
  echo flow query 0 0 count
  echo flow flush 0
  forwards
}

# with_changes: what the first port sends goes in VXLAN, one more each time round, until it is too
# long for the port; then with other headers and one hop less each time.
with_changes() {
  echo set vxlan ip-version ipv4 vni 7 udp-src 4789 udp-dst 4789 ip-src 192.0.2.7 \
    ip-dst 192.0.2.8 eth-src 02:50:43:00:00:01 eth-dst 02:50:43:00:00:02
  echo flow create 0 egress pattern eth / ipv4 / end actions vxlan_encap / end
  forwards
  echo flow flush 0
  echo flow create 0 egress pattern eth / ipv4 / udp / end actions \
    set_ipv4_src ipv4_addr 192.0.2.9 / dec_ttl / set_tp_dst port 99 / end
  forwards
}

# with_groups: rules of group 1, whose entries DPDK writes itself, behind a jump from group 0. What
# the first port gets is counted and led to its queue, and what it sends has another source and one
# hop less.
with_groups() {
  echo flow create 0 ingress group 0 pattern eth / end actions jump group 1 / end
  echo flow create 0 ingress group 1 pattern eth / ipv4 / udp / end actions \
    count / queue index 0 / end
  echo flow create 0 egress group 0 pattern eth / end actions jump group 1 / end
  echo flow create 0 egress group 1 pattern eth / ipv4 / udp / end actions \
    set_ipv4_src ipv4_addr 192.0.2.10 / dec_ttl / end
  forwards
  echo flow query 0 1 count
  echo flow flush 0
  forwards
}

# bursts NAME COMMAND: testpmd is told what COMMAND says, ends with 0, and says what each port sent
# and received.
bursts() {
  {
    sleep 5
    $2
    echo show port xstats all
    echo quit
  } | on_host dpdk-testpmd -l 0,1 --no-huge -m 512 --no-shconf --no-telemetry -a "$(hca 0)" \
    -a "$(hca 1)" --log-level=pmd.common.mlx5:debug --log-level=pmd.net.mlx5:debug -- -i \
    --eth-peer=0,02:50:43:00:00:02 --eth-peer=1,02:50:43:00:00:01 --nb-cores=1 \
    --total-num-mbufs=4096 >"/host/results/$1.txt" 2>&1
}

limit_s=120
mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
check "two interfaces" two_interfaces
load_mlx5_ib
check "the other port is ACTIVE" wait_for 20 other_is_active
check "testpmd" bursts testpmd forwards
check "testpmd again" bursts again forwards
check "testpmd with a rule over what is sent" bursts egress without_first_port
check "testpmd with rules that change what is sent" bursts changes with_changes
check "testpmd with rules of a second group" bursts groups with_groups
check "ping by the kernel after that" on_host ping -q -c 3 -I 192.0.2.1 192.0.2.2
