# SPDX-License-Identifier: BSD-3-Clause
"""leased.service under a systemd of its own, as it is installed but for where it writes its lines.

    unit_under_systemd.py LEASED LEASECTL LEASED_SERVICE

As root. systemd is the first process of namespaces that end with this program; the host's own is
not touched. It needs cgroups of version 1 with a hierarchy of systemd's, and is no part of
`./dev test`: not every machine lets it. Prints a line for each thing that it saw.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DEADLINE_S = 300  # for a machine with much else to do
LEASED, LEASECTL, UNIT = (pathlib.Path(each).resolve() for each in sys.argv[1:4])
UNITS = ("basic.target", "sysinit.target", "shutdown.target", "umount.target", "final.target",
         "network-online.target", "local-fs.target", "system.slice")
BOOT = r"""
set -e
echo $$ > {cgroup}/cgroup.procs
exec unshare --pid --fork --kill-child --mount --uts --ipc --cgroup --mount-proc bash -ec '
mount --make-rprivate /
for each in /run /dev /var/lib /opt /sys/fs/cgroup; do mount -t tmpfs tmpfs $each; done
for each in "null 3" "zero 5" "full 7" "random 8" "urandom 9"; do
  set -- $each; mknod -m 666 /dev/$1 c 1 $2
done
mkdir -p /dev/shm /sys/fs/cgroup/systemd /etc/portcullis
ln -s /proc/self/fd /dev/fd
touch /dev/kmsg; mount --bind {folder}/kmsg /dev/kmsg
mount -t tmpfs tmpfs /etc/portcullis
cp {folder}/leased.toml /etc/portcullis
cp {leased} /opt/leased; cp {leasectl} /opt/leasectl
mount -t cgroup -o none,name=systemd systemd /sys/fs/cgroup/systemd
exec env -i container=portcullis PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  SYSTEMD_UNIT_PATH={folder}/units \
  /lib/systemd/systemd --system --unit=leased.service --log-target=kmsg --show-status=0'
"""


class Machine:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.cgroup = pathlib.Path(f"/sys/fs/cgroup/systemd/portcullis-{os.getpid()}")
        units = self.folder / "units"
        (units / "leased.service.d").mkdir(parents=True)
        for name in UNITS:
            if pathlib.Path("/lib/systemd/system", name).exists():
                shutil.copy(f"/lib/systemd/system/{name}", units)
        lines = UNIT.read_text(encoding="utf-8").splitlines()
        (units / "leased.service").write_text("\n".join(
            "ExecStart=/opt/leased --config /etc/portcullis/leased.toml"
            if line.startswith("ExecStart=") else line for line in lines) + "\n", encoding="utf-8")
        (units / "leased.service.d" / "lines.conf").write_text(
            f"[Service]\nStandardOutput=append:{folder}/lines\n"
            f"StandardError=append:{folder}/lines\n", encoding="utf-8")
        for name in ("kmsg", "lines"):
            (self.folder / name).touch()
        (self.folder / "leased.toml").write_text(
            '[device]\nslots = 64\n[process]\nuser = "nobody"\n', encoding="utf-8")
        (self.folder / "boot").write_text(BOOT.format(
            cgroup=self.cgroup, folder=folder, leased=LEASED, leasectl=LEASECTL), encoding="utf-8")
        self.cgroup.mkdir()
        self.outside = subprocess.Popen(["bash", str(self.folder / "boot")])
        self.first = None

    def init(self):
        """The process that systemd is, as this host numbers it."""
        if self.first is None:
            children = pathlib.Path(
                f"/proc/{self.outside.pid}/task/{self.outside.pid}/children").read_text().split()
            self.first = children[0] if children else None
        return self.first

    def run(self, *command):
        done = subprocess.run(["nsenter", "-t", self.init(), "-a", *command], text=True,
                              capture_output=True, check=False, timeout=DEADLINE_S)
        return done.returncode, done.stdout + done.stderr

    def show(self, what):
        return self.run("systemctl", "show", "-p", what, "--value", "leased.service")[1].strip()

    def until(self, what, wanted):
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            if self.init() is not None and wanted():
                print(what, flush=True)
                return
            time.sleep(0.2)
        raise SystemExit(f"not seen: {what}\n{self.said()}")

    def said(self):
        return ((self.folder / "kmsg").read_text(errors="replace")
                + (self.folder / "lines").read_text(errors="replace"))

    def is_active(self):
        return self.show("ActiveState") == "active"

    def main(self):
        return int(self.show("MainPID"))

    def end(self):
        self.outside.kill()
        self.outside.wait()
        until = time.monotonic() + 30
        while time.monotonic() < until:  # the cgroup's, when the last of them has gone
            try:
                for folder, _, _ in os.walk(self.cgroup, topdown=False):
                    os.rmdir(folder)
                return
            except OSError:
                time.sleep(0.2)


def watch(machine):
    machine.until("started: READY=1 was heard", machine.is_active)
    status, text = machine.run("/opt/leasectl", "--socket", "/run/portcullis/leased.sock", "status")
    if status != 0:
        raise SystemExit(f"leasectl: {status} {text}")
    print("leasectl status is answered over", "/run/portcullis/leased.sock")
    first = machine.main()
    status = machine.run("cat", f"/proc/{first}/status")[1]
    wanted = ("CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "Uid:\t65534\t65534")
    for line in wanted:
        if line not in status:
            raise SystemExit(f"of /proc/PID/status: no '{line}' in\n{status}")
    print("of /proc/PID/status: " + ", ".join(line.replace("\t", " ") for line in wanted))
    if machine.run("systemctl", "reload", "leased.service")[0] != 0 or machine.main() != first:
        raise SystemExit(machine.said())
    machine.until("reloaded by SIGHUP, the same process", machine.is_active)
    machine.run("kill", "-STOP", str(first))
    machine.until("stopped from outside: the watchdog ended it, and another was started",
                  lambda: machine.is_active() and machine.main() not in (0, first))
    second = machine.main()
    machine.run("kill", "-KILL", str(second))
    machine.until("killed: another was started",
                  lambda: machine.is_active() and machine.main() not in (0, first, second))
    if machine.run("systemctl", "stop", "leased.service")[0] != 0:
        raise SystemExit(machine.said())
    result = machine.show("Result"), machine.show("ExecMainStatus")
    if result != ("success", "0"):
        raise SystemExit(f"stop: {result}\n{machine.said()}")
    print("stopped by SIGTERM, status 0")


def main():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        machine = Machine(folder)
        try:
            watch(machine)
        finally:
            machine.end()
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
