# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: callgrind counts what a WRITE of 64 bytes takes, by our driver through DevX and
# by libmlx5, with its locks and, by MLX5_SINGLE_THREADED, which it reads, without them.

count=200

# counted NAME WAY WHAT [ENVIRONMENT ..]: instructions inside portcullis_cost_WHAT.
counted() {
  counted_in=$1.$3
  counted_way=$2
  counted_what=$3
  shift 3
  on_host env LD_BIND_NOW=1 "$@" valgrind --tool=callgrind --collect-atstart=no \
    "--toggle-collect=portcullis_cost_$counted_what*" \
    "--callgrind-out-file=/results/$counted_in.txt" \
    tests/devx/post-cost $device "$counted_way" $count \
    >"/host/results/$counted_in.log" 2>&1 </dev/null && return
  tail -n 3 "/host/results/$counted_in.log"
  return 1
}

limit_s=300
modprobe mlx5_core
check "its port comes up" comes_up 0
load_mlx5_ib
for what in post poll; do
  check "ours: $what" counted ours ours $what
  for way in post-send wr; do
    check "$way: $what" counted $way $way $what
    check "$way, single-threaded: $what" \
      counted $way-single $way $what MLX5_SINGLE_THREADED=1
  done
done
