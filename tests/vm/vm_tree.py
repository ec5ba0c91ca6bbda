# SPDX-License-Identifier: BSD-3-Clause
#
# What a virtual machine is made of: QEMU 10.1 or newer with vfio-user-pci, the kernels of Debian
# 12 and 13 with their modules, a busybox. Built once from Debian packages into a cache, used from
# there afterwards. opensm and open-iscsi are in it too, for on a host they would run at once, the
# first one over the fabric that the host is on.
"""The cached tree of Debian 13 that a scenario boots from."""

import hashlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

# QEMU of Debian 13 itself is 10.0 and has no vfio-user-pci; its backports have.
SUITES = ("trixie", "trixie-backports")
# The kernels a scenario may ask for, each as its suite has it, by their first two numbers.
KERNELS = {"6.1": "bookworm", "6.12": "trixie"}
NEWEST_KERNEL = "6.12"
OLDEST_QEMU = (10, 1)
BUILD_TIMEOUT_S = 3600  # of a slow mirror and a machine with other work to do
PROGRESS_S = 20


class VmError(Exception):
    """One line for the user."""


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "portcullis" / "vm"


def mirrors(sources: Path = Path("/etc/apt")) -> list[str]:
    """Archive URIs of this host, in its order; security archives carry no such suites."""
    found = []
    for file in [sources / "sources.list", *sorted((sources / "sources.list.d").glob("*"))]:
        if not file.is_file() or file.suffix not in (".list", ".sources"):
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        found += re.findall(r"^URIs:\s*(\S+)", text, re.M)
        found += re.findall(r"^deb\s+(?:\[[^\]]*\]\s+)?(\S+)", text, re.M)
    return [uri for uri in dict.fromkeys(found) if uri.rstrip("/").endswith("/debian")]


def qemu_version(qemu: list[str]) -> tuple[int, int] | None:
    """(major, minor), or None when it cannot be run or has no vfio-user-pci."""
    try:
        version = subprocess.run([*qemu, "--version"], capture_output=True, text=True,
                                 timeout=600, check=True).stdout
        devices = subprocess.run([*qemu, "-device", "help"], capture_output=True, text=True,
                                 timeout=600, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    number = re.search(r"version (\d+)\.(\d+)", version)
    if number is None or '"vfio-user-pci"' not in devices:
        return None
    return int(number[1]), int(number[2])


class Tree:
    """The tree, built when missing. `qemu` is the command that runs its QEMU on this host, `series`
    which of KERNELS it boots."""

    def __init__(self, root: Path, series: str = NEWEST_KERNEL):
        self.root = root
        self.series = series

    @property
    def qemu(self) -> list[str]:
        host = shutil.which("qemu-system-x86_64")
        if host is not None and (qemu_version([host]) or (0, 0)) >= OLDEST_QEMU:
            return [host]
        # The tree's own loader and libraries: no chroot, so that the guest may be shown the host.
        library = self.root / "usr/lib/x86_64-linux-gnu"
        return [str(self.root / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path",
                f"{library}:{library}/pulseaudio",
                str(self.root / "usr/bin/qemu-system-x86_64")]

    @property
    def firmware(self) -> Path:
        return self.root / "usr/share/seabios"

    @property
    def kernel_release(self) -> str:
        releases = sorted(path.name for path in (self.root / "lib/modules").iterdir()
                          if re.match(rf"{re.escape(self.series)}[.-]", path.name))
        if not releases:
            raise VmError(f"{self.root}: no modules of kernel {self.series}; remove the folder and "
                          "run again")
        return releases[-1]

    @property
    def kernel(self) -> Path:
        return self.root / "boot" / f"vmlinuz-{self.kernel_release}"

    @property
    def modules(self) -> Path:
        return self.root / "lib/modules"

    @property
    def busybox(self) -> Path:
        return self.root / "usr/bin/busybox"


def build(root: Path, archive: list[str]) -> None:
    """mmdebstrap into a folder beside `root`, then one rename: a tree is whole or not there."""
    if not archive:
        raise VmError("no Debian archive in /etc/apt/sources.list or sources.list.d: the virtual "
                      "machine is made from Debian packages")
    if shutil.which("mmdebstrap") is None:
        raise VmError("mmdebstrap is missing: apt-get install mmdebstrap")
    unfinished = root.with_name(root.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    install = ("DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "
               "-o Acquire::Check-Valid-Until=false -t trixie-backports qemu-system-x86 "
               "busybox-static opensm open-iscsi")
    hook = unfinished.with_suffix(".kernels")
    hook.write_text(kernels_hook(), encoding="utf-8")
    hook.chmod(0o755)
    command = ["mmdebstrap", "--variant=apt", "--aptopt=Acquire::Check-Valid-Until \"false\"",
               f"--customize-hook=chroot \"$1\" sh -c '{install}'", f"--customize-hook={hook}",
               SUITES[0], str(unfinished),
               *[f"deb {archive[0]} {suite} main"
                 for suite in dict.fromkeys((*SUITES, *KERNELS.values()))]]
    log = unfinished.with_suffix(".log")
    status = run_patiently(command, log)
    if status is None:
        raise VmError(f"making the tree took over {BUILD_TIMEOUT_S} s; see {log}")
    if status != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        reason = next((line for line in reversed(lines) if "E:" in line or "rror" in line),
                      lines[-1] if lines else "no output")
        raise VmError(f"making the tree failed ({reason}); see {log}")
    unpack_modules(unfinished)
    unfinished.rename(root)
    hook.unlink()


def kernels_hook() -> str:
    """Called by mmdebstrap with the tree. A kernel is unpacked, not installed: nothing here boots
    from a disk. Which package it is, the suite's linux-image-amd64 says by what it depends on. The
    older one has its modules below /lib, which is a link in the tree and stays one."""
    unpack = """
chroot "$1" sh -euc '
  cd /tmp
  version=$(apt-cache madison linux-image-amd64 | grep -F " SUITE/main " | head -n 1 |
    cut -d "|" -f 2 | tr -d " ")
  package=$(apt-cache show "linux-image-amd64=$version" |
    sed -n "s/^Depends: \\(linux-image-[^ ]*\\).*/\\1/p" | head -n 1)
  apt-get -o Acquire::Check-Valid-Until=false download "$package"
  dpkg-deb --fsys-tarfile linux-image-*.deb | tar -x -C / --keep-directory-symlink
  rm linux-image-*.deb
'
"""
    return "#!/bin/sh\nset -eu" + "".join(unpack.replace("SUITE", suite)
                                          for suite in KERNELS.values())


def run_patiently(command: list[str], log: Path, limit_s: float = BUILD_TIMEOUT_S,
                  every_s: float = PROGRESS_S, who: str = "vm") -> int | None:
    """The status of `command`, whose output goes to `log`; None when it took over `limit_s`. Says
    every `every_s` what it is at."""
    started = time.monotonic()
    with log.open("w", encoding="utf-8") as out, \
            subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as process:
        while True:
            try:
                return process.wait(timeout=every_s)
            except subprocess.TimeoutExpired:
                lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                took = time.monotonic() - started
                print(f"{who}: {took:.0f} s: {lines[-1][:80] if lines else 'nothing said yet'}",
                      flush=True)
                if took > limit_s:
                    process.kill()
                    process.wait()
                    return None


def unpack_modules(root: Path) -> None:
    """busybox modprobe reads no .xz; depmod of the host writes modules.dep for the plain files."""
    for packed in (root / "usr/lib/modules").rglob("*.ko.xz"):
        subprocess.run(["xz", "-d", str(packed)], check=True)
    for release in (root / "usr/lib/modules").iterdir():
        subprocess.run(["depmod", "-b", str(root), release.name], check=True)


def tree(series: str = NEWEST_KERNEL) -> Tree:
    """The tree of this recipe, built first if there is none yet."""
    if series not in KERNELS:
        raise VmError(f"kernel '{series}'; accepted: {', '.join(KERNELS)}")
    recipe = Path(__file__).read_bytes()
    root = cache_folder() / ("trixie-" + hashlib.sha256(recipe).hexdigest()[:12])
    if not root.is_dir():
        print(f"vm: making a tree with QEMU and a kernel in {root} (once)", flush=True)
        build(root, mirrors())
    result = Tree(root, series)
    if (qemu_version(result.qemu) or (0, 0)) < OLDEST_QEMU:
        raise VmError(f"QEMU of {root} has no vfio-user-pci; {OLDEST_QEMU[0]}.{OLDEST_QEMU[1]} or "
                      "newer is needed")
    return result
