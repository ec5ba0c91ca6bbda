# SPDX-License-Identifier: BSD-3-Clause
#
# One boot: an initramfs with busybox and the modules that reach the host's files, QEMU under TCG
# with an IOMMU, the host's root read-only over 9p, and a folder for results. The guest runs one
# script and says how it ended; whoever booted it gets that status, the console, and a deadline.
"""Boots a guest, runs one script in it."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from vm_tree import Tree, VmError

MARK = "PORTCULLIS-VM-STATUS"
# What the guest needs before it can load anything else from the host.
BOOT_MODULES = ("9p", "9pnet_virtio", "virtio_pci", "overlay")

# /host is the host's root under an overlay in memory, so that what a scenario writes is gone with
# the guest; /host/results is the folder that stays.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read module; do insmod /boot-modules/$module; done < /boot-modules/order
mkdir -p /lib/modules /lower /memory /host
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro modules /lib/modules
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /lower
mount -t tmpfs memory /memory
mkdir /memory/upper /memory/work
mount -t overlay -o lowerdir=/lower,upperdir=/memory/upper,workdir=/memory/work host /host
mkdir -p /host/results /host/lib/modules
for folder in proc sys dev; do mount --bind /$folder /host/$folder; done
mkdir -p /dev/shm /dev/hugepages && mount -t tmpfs shm /dev/shm
mount -t tmpfs run /host/run
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 results /host/results
ifconfig lo up
sh /scenario
echo %(mark)s=$?
poweroff -f
""" % {"mark": MARK}


@dataclass
class Guest:
    """What to boot. `script` is run by busybox sh in the guest's initramfs, with the host's files
    at /host; `devices` are more -device arguments, each behind a PCIe root port of its own: on the
    root bus an endpoint has no link to be asked about. `more` goes to QEMU as it stands. A device
    reaches memory without a file by messages only."""

    tree: Tree
    script: str
    results: Path
    devices: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    memory_mib: int = 2048
    deadline_s: int = 1800
    kernel_arguments: str = ""
    memory_has_file: bool = True
    told: Callable[[str], None] = lambda line: None  # of each line of the console

    def boot(self) -> int:
        """The script's status. VmError when the guest never said one."""
        self.results.mkdir(parents=True, exist_ok=True)
        initramfs = self.results / "initramfs"
        initramfs.write_bytes(self.initramfs())
        console = self.results / "console.log"
        process = subprocess.Popen(self.command(initramfs), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace")
        watchdog = threading.Timer(self.deadline_s, process.kill)
        watchdog.start()
        started = time.monotonic()
        try:
            status = self.follow(process, console)
        finally:
            watchdog.cancel()
            process.kill()
            process.wait()
        took = time.monotonic() - started
        if status is None and took >= self.deadline_s:
            raise VmError(f"the guest did not end within {self.deadline_s} s; see {console}")
        if status is None:
            raise VmError(f"the guest ended without a status after {took:.0f} s; see {console}")
        return status

    def follow(self, process: subprocess.Popen, console: Path) -> int | None:
        status = None
        with console.open("w", encoding="utf-8") as log:
            for line in process.stdout:
                log.write(line)
                self.told(line)
                if line.startswith(MARK + "="):
                    status = int(line.split("=")[1])
                elif not line.startswith("[") or "error" in line.lower():
                    sys.stdout.write("  | " + line)
                    sys.stdout.flush()
        return status

    def command(self, initramfs: Path) -> list[str]:
        size = f"{self.memory_mib}M"
        memory = f"memory-backend-ram,id=memory,size={size}"
        if self.memory_has_file:
            memory = f"memory-backend-memfd,id=memory,size={size},share=on"
        shares = [("host", "/", True), ("modules", str(self.tree.modules), True),
                  ("results", str(self.results), False)]
        # A guest that a busy machine holds up for 10 ms would take its timer for a broken one.
        arguments = "console=ttyS0 intel_iommu=on panic=-1 no_timer_check " + self.kernel_arguments
        command = [*self.tree.qemu, "-nodefaults", "-no-user-config", "-display", "none",
                   "-L", str(self.tree.firmware), "-L", str(self.tree.root / "usr/share/qemu"),
                   "-machine", "q35,kernel-irqchip=split,memory-backend=memory",
                   "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", size,
                   "-object", memory,
                   "-device", "intel-iommu,intremap=on,caching-mode=on",
                   "-kernel", str(self.tree.kernel), "-initrd", str(initramfs),
                   "-append", arguments,
                   "-serial", "stdio", "-no-reboot"]
        for tag, path, read_only in shares:
            command += ["-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap"
                        + (",readonly=on" if read_only else ""),
                        "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
        for index, device in enumerate(self.devices):
            port = f"port{index}"
            command += ["-device", f"pcie-root-port,id={port},chassis={index + 1}",
                        "-device", json.dumps({**json.loads(device), "bus": port})]
        return command + self.more

    def initramfs(self) -> bytes:
        """A cpio archive in the kernel's "newc" format (Documentation/driver-api/early-userspace/
        buffer-format.rst)."""
        files = [("bin", 0o40755, b""), ("proc", 0o40755, b""), ("sys", 0o40755, b""),
                 ("dev", 0o40755, b""), ("boot-modules", 0o40755, b""),
                 ("bin/busybox", 0o100755, self.tree.busybox.read_bytes()),
                 ("init", 0o100755, INIT.encode()),
                 ("scenario", 0o100755, self.script.encode())]
        modules = self.boot_modules()
        files += [("boot-modules/" + path.name, 0o100644, path.read_bytes()) for path in modules]
        files.append(("boot-modules/order", 0o100644,
                      "".join(path.name + "\n" for path in modules).encode()))
        files.append(("TRAILER!!!", 0, b""))
        return b"".join(cpio_entry(number, *file) for number, file in enumerate(files))

    def boot_modules(self) -> list[Path]:
        """Paths in the order in which they can be loaded."""
        order: list[Path] = []
        folder = self.tree.modules / self.tree.kernel_release
        lines = (folder / "modules.dep").read_text(encoding="utf-8").splitlines()
        needs = dict(line.split(":", 1) for line in lines)
        named = {Path(path).stem.replace("-", "_"): path for path in needs}
        for module in BOOT_MODULES:
            if module not in named:
                continue  # built into the kernel
            for path in [*reversed(needs[named[module]].split()), named[module]]:
                if folder / path not in order:
                    order.append(folder / path)
        return order


def cpio_entry(number: int, name: str, mode: int, data: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    header = "070701" + "".join(f"{value:08X}" for value in (
        number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0))
    entry = header.encode() + encoded
    entry += b"\0" * (-len(entry) % 4)
    return entry + data + b"\0" * (-len(data) % 4)
