# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: UCX matches tags in hardware between two InfiniBand ports that opensm numbers.
# Its XRQ is made by verbs and by DevX in turn, and its command QP is its own (rc_mlx5_common.c).

# tags NAME ENVIRONMENT ARGUMENT ..: tagged messages over its own driver.
tags() {
  tags_name=$1
  tags_words="UCX_TLS=rc_x,self UCX_NET_DEVICES=PORT:1 UCX_RC_MLX5_TM_ENABLE=y $2"
  shift 2
  ucx "$tags_name" "env $tags_words" "$@"
}

limit_s=120
mount -t debugfs debugfs /sys/kernel/debug
starts_over_ib
for devx in n y; do
  by="UCX_IB_MLX5_DEVX=$devx"
  check "8 bytes, DevX $devx" tags "short_$devx" "$by" -t tag_lat -s 8
  check "4 KiB, DevX $devx" tags "eager_$devx" "$by" -t tag_lat -s 4096
  check "4 KiB, any tag, DevX $devx" tags "any_$devx" "$by" -t tag_lat -s 4096 -r recv
  check "4 KiB, unexpected, DevX $devx" tags "unexpected_$devx" "$by" -t tag_lat -s 4096 -U
  check "4 KiB, synchronous, DevX $devx" tags "sync_$devx" "$by" -t tag_sync_lat -s 4096
  check "16 KiB, many, DevX $devx" tags "many_$devx" "$by" -t tag_bw -s 16384
  check "256 KiB, DevX $devx" tags "rndv_$devx" "$by UCX_RNDV_THRESH=8192" -t tag_lat -s 262144
  check "256 KiB, many, DevX $devx" tags "rndvs_$devx" "$by UCX_RNDV_THRESH=8192" \
    -t tag_bw -s 262144
done
ends_over_ib
