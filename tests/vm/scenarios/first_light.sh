# SPDX-License-Identifier: BSD-3-Clause
#
# Run in the guest: what a person with a card does, on three functions; then killed in each step.
modprobe -a vfio_iommu_type1 vfio-pci
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
  bundle=/results/$2.tar.zst
  shift 2
  light "$@" --bundle "$bundle"
  came=$?
  test $came -eq "$wanted" && return
  echo "status $came, $wanted expected"
  return 1
}

# killed_in STEP: while that step runs; a second run is clean.
killed_in() {
  light "$kept" --steps "$1" --revokes 2000 --fences 2000 --rounds 20000 --writes 20000 \
    >/dev/null 2>&1 &
  sleep 3
  pkill -KILL -f "first-light.*--steps $1"
  wait $!
  light "$kept" --steps bring-up,loopback,end
}

check "vfio-pci binds all" eval \
  'bind_to "$kept" vfio-pci && bind_to "$broken" vfio-pci && bind_to "$virtual" vfio-pci'
check "a function that keeps its promises" concludes 3 kept "$kept" --fences 64 \
  --steps bring-up,commands,loopback,key,entries,probes,plans,end
check "one that breaks one" concludes 2 broken "$broken" --fences 64 \
  --steps bring-up,loopback,probes,audit,end
check "a virtual function" concludes 3 virtual "$virtual" \
  --steps bring-up,loopback,key,entries,probes,plans,end
for step in commands loopback plans; do
  check "killed in step $step, and clean in the next run" killed_in $step
done
