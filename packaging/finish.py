# SPDX-License-Identifier: BSD-3-Clause
"""Packs a package of CPack's again, so that it is a function of what is in it.

    finish.py EPOCH DEB ..

CPack lists checksums in the order of the folder on its disk, gives files the time they were made
at, and has libraries call ldconfig themselves. Here ldconfig is a trigger, manual pages and
changelogs are compressed, modes are Debian's whatever umask was, lists are sorted, every time is
EPOCH, and dpkg-deb packs.
"""

import gzip
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMPRESSED = re.compile(r"usr/share/(man/.*\.\d|doc/[^/]+/changelog)$")
# What CPack gives a package with a shared library.
LDCONFIG = re.compile(r'#!/bin/sh\s+set -e\s+if \[ "\$1" = "\w+" \]; then\s+ldconfig\s+fi\s*')
LIMIT_S = 600
KIB = 1024


def run(*command: str, **more) -> None:
    subprocess.run(command, check=True, timeout=LIMIT_S, **more)


def compress(tree: pathlib.Path) -> None:
    for path in sorted(tree.rglob("*")):
        if path.is_file() and COMPRESSED.search(str(path.relative_to(tree))):
            packed = path.with_name(path.name + ".gz")
            packed.write_bytes(gzip.compress(path.read_bytes(), compresslevel=9, mtime=0))
            path.unlink()


def trigger_ldconfig(tree: pathlib.Path) -> None:
    """In place of scripts that do nothing but call it."""
    control = tree / "DEBIAN"
    for script in (control / "postinst", control / "postrm"):
        if script.is_file() and LDCONFIG.fullmatch(script.read_text(encoding="utf-8")):
            script.unlink()
            (control / "triggers").write_text("activate-noawait ldconfig\n", encoding="utf-8")


def set_modes(tree: pathlib.Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        if path.is_symlink():
            continue
        is_open = path.is_dir() or path.stat().st_mode & 0o100
        # A library is mapped, not run.
        is_library = path.is_file() and re.search(r"\.so\.[0-9.]+$", path.name)
        path.chmod(0o755 if is_open and not is_library else 0o644)


def contents(tree: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in tree.rglob("*")
                  if path.relative_to(tree).parts[0] != "DEBIAN")


def describe(tree: pathlib.Path) -> None:
    """md5sums and Installed-Size, of what is there now."""
    files = [path for path in contents(tree) if path.is_file() and not path.is_symlink()]
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n"
            for path in files]
    (tree / "DEBIAN/md5sums").write_text("".join(sums), encoding="utf-8")
    # As dpkg-gencontrol counts: files in whole KiB, one for everything else.
    size = sum(-(-path.stat().st_size // KIB) if path in files else 1 for path in contents(tree))
    control = tree / "DEBIAN/control"
    text = re.sub(r"(?m)^Installed-Size: .*$", f"Installed-Size: {size}", control.read_text())
    control.write_text(text, encoding="utf-8")


def finish(deb: pathlib.Path, epoch: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        run("dpkg-deb", "--raw-extract", str(deb), str(tree))
        compress(tree)
        trigger_ldconfig(tree)
        describe(tree)
        set_modes(tree)
        for path in [*tree.rglob("*"), tree]:
            os.utime(path, (epoch, epoch), follow_symlinks=False)
        packed = pathlib.Path(folder) / deb.name
        environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}
        run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(tree), str(packed),
            env=environment, stdout=subprocess.DEVNULL)
        deb.write_bytes(packed.read_bytes())


def main(arguments: list[str]) -> int:
    for name in arguments[1:]:
        finish(pathlib.Path(name), int(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
