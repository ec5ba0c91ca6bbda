mount -t debugfs debugfs /sys/kernel/debug
modprobe mlx5_core
bdf=$(hca 0)
check "mlx5_core binds the function" bound_to "$bdf" mlx5_core
ls /sys/bus/pci/devices/$bdf /sys/kernel/debug/mlx5/$bdf /sys/kernel/debug/mlx5/$bdf/pages /sys/class/net /sys/bus/auxiliary/devices /sys/class/infiniband
cat /sys/kernel/debug/mlx5/$bdf/pages/*
modprobe mlx5_ib
sleep 5
ls /sys/class/infiniband /sys/bus/auxiliary/devices; ls /sys/class/infiniband/*/
dmesg | grep -i "mlx5\|04.0\|WARN\|rdma"
cat /proc/interrupts
unbind $bdf
dmesg | tail -20
