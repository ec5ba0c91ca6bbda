# SPDX-License-Identifier: BSD-3-Clause
"""Debian packages of what build/package holds, judged by lintian; see docs/install.md."""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# It knows the archives of this host, and runs what takes minutes with a word now and then.
sys.path.insert(0, str(ROOT / "tests/vm"))
from vm_tree import mirrors, run_patiently  # noqa: E402

LIMIT_S = 3600  # of a slow mirror and a machine with other work to do
SUITE = "bookworm"


class PackageError(Exception):
    """One line for the user."""


def run(*command: str, limit_s: int = LIMIT_S, **more) -> str:
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=limit_s,
                               check=False, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PackageError(f"{command[0]}: {error}") from error
    if ended.returncode != 0:
        raise PackageError(f"{' '.join(command)}: status {ended.returncode}\n"
                           f"{ended.stdout}{ended.stderr}")
    return ended.stdout


def make(tree: pathlib.Path) -> list[pathlib.Path]:
    """The packages of a tree that is built, by CPack."""
    build = tree / "build/package"
    shutil.rmtree(build / "debs", ignore_errors=True)
    run("cpack", "--config", str(build / "CPackConfig.cmake"), cwd=build)
    shutil.rmtree(build / "debs/_CPack_Packages", ignore_errors=True)
    debs = sorted((build / "debs").glob("*.deb"))
    if not debs:
        raise PackageError(f"{build}/debs: CPack made no package")
    return debs


def field(deb: pathlib.Path, name: str) -> str:
    return run("dpkg-deb", "--field", str(deb), name).strip()


def tell(debs: list[pathlib.Path]) -> None:
    for deb in debs:
        listed = run("dpkg-deb", "--contents", str(deb)).splitlines()
        paths = [line.split(maxsplit=5)[5] for line in listed if not line.startswith("d")]
        beside = [path for path in paths if "/usr/share/" not in path]
        print(f"{deb.name}: {deb.stat().st_size // 1024} KiB, {len(paths)} files, "
              f"{field(deb, 'Description').splitlines()[0]}")
        if beside:
            shown = [path.lstrip(".").split(" -> ")[0] for path in beside[:8]]
            more = f" and {len(beside) - 8} more" if len(beside) > 8 else ""
            print(f"  {' '.join(shown)}{more}")


def judge(debs: list[pathlib.Path]) -> None:
    """lintian: what it says is mended, or has its reason in packaging/overrides."""
    # With --show-overrides lintian 2.116 fails for tags that are explained too: its lines decide.
    command = ["lintian", "--fail-on", "none", "--show-overrides", "--tag-display-limit", "0",
               *map(str, debs)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    said = [line for line in ended.stdout.splitlines() if not line.startswith("N: ") or
            len(line) > 3]
    print("\n".join(said))
    if ended.returncode != 0:
        raise PackageError(f"lintian: status {ended.returncode} {ended.stderr.strip()}")
    found = sum(line.startswith(("E: ", "W: ")) for line in said)
    if found != 0:
        raise PackageError(f"lintian: {found} errors and warnings, each in a line above")
    explained = sum(line.startswith("O: ") for line in said)
    print(f"lintian: no error and no warning; {explained} tags are explained")


def check_installed(debs: list[pathlib.Path]) -> None:
    """Installs them in a fresh tree of Debian, runs what is in them, and removes them."""
    archive = mirrors()
    if not archive:
        raise PackageError("no Debian archive in /etc/apt/sources.list or sources.list.d")
    log = ROOT / "build/package/tree.log"
    with tempfile.TemporaryDirectory() as folder:
        for path in [*debs, ROOT / "packaging/in_tree.sh"]:
            shutil.copy(path, folder)
        inside = f"/root/{pathlib.Path(folder).name}"
        command = ["mmdebstrap", "--variant=apt", "--format=null",
                   "--aptopt=Acquire::Check-Valid-Until \"false\"",
                   f"--customize-hook=copy-in {folder} /root",
                   f"--customize-hook=chroot \"$1\" sh {inside}/in_tree.sh",
                   SUITE, "/dev/null", f"deb {archive[0]} {SUITE} main"]
        status = run_patiently(command, log, LIMIT_S, who="package")
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    print("\n".join(line for line in lines if line.startswith("in the tree: ")))
    if status != 0:
        wrong = [line for line in lines if re.search(r"^E:|rror|not ", line)][-3:]
        raise PackageError(f"the tree: status {status}; see {log}\n" + "\n".join(wrong))


def clone(where: pathlib.Path) -> pathlib.Path:
    run("git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(where))
    head = run("git", "-C", str(ROOT), "rev-parse", "HEAD").strip()
    run("git", "-C", str(where), "checkout", "--quiet", "--detach", head)
    return where


def sums(debs: list[pathlib.Path]) -> dict[str, str]:
    return {deb.name: hashlib.sha256(deb.read_bytes()).hexdigest() for deb in debs}


def check_reproducible(debs: list[pathlib.Path], has_ccache: bool) -> None:
    """The same commit in another tree, with another path, time and umask, gives equal packages."""
    if run("git", "-C", str(ROOT), "status", "--porcelain"):
        raise PackageError("--reproducible is of a commit, and there are changes on top of it")
    with tempfile.TemporaryDirectory() as folder:
        tree = clone(pathlib.Path(folder) / "another/and/longer/path")
        environment = os.environ | {"CCACHE_BASEDIR": str(tree), "TZ": "Pacific/Chatham",
                                    "LC_ALL": "C"}
        if not has_ccache:
            environment["CCACHE_DISABLE"] = "1"
        before = os.umask(0o077)
        try:
            run("cmake", "--preset", "package", cwd=tree, env=environment)
            log = ROOT / "build/package/other_tree.log"
            command = ["env", "-C", str(tree), *[f"{key}={environment[key]}" for key in
                       ("CCACHE_BASEDIR", "TZ", "CCACHE_DISABLE") if key in environment],
                       "cmake", "--build", "--preset", "package"]
            if run_patiently(command, log, LIMIT_S * 4, who="package") != 0:
                raise PackageError(f"the other tree does not build; see {log}")
            others = make(tree)
        finally:
            os.umask(before)
        here, there = sums(debs), sums(others)
        for name in sorted(here.keys() | there.keys()):
            same = "same" if here.get(name) == there.get(name) else "DIFFERENT"
            print(f"{same}  {here.get(name, 'missing'):.16}  {name}")
        if here != there:
            kept = ROOT / "build/package/other_debs"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(tree / "build/package/debs", kept)
            raise PackageError(f"the packages of two trees differ; the others are in {kept}")
    print(f"{len(here)} packages are the same from two trees")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev package", description=__doc__)
    parser.add_argument("--check", action="store_true",
                        help="install them in a fresh tree, run each program, remove them")
    parser.add_argument("--reproducible", action="store_true",
                        help="build the commit in another tree too and compare")
    parser.add_argument("--without-ccache", action="store_true",
                        help="with --reproducible: compile all of the other tree")
    options = parser.parse_args(arguments)
    if options.without_ccache and not options.reproducible:
        parser.error("--without-ccache is for --reproducible")
    try:
        debs = make(ROOT)
        tell(debs)
        judge(debs)
        if options.check:
            check_installed(debs)
        if options.reproducible:
            check_reproducible(debs, not options.without_ccache)
    except PackageError as error:
        print(f"dev: package: {error}", file=sys.stderr)
        return 1
    print(f"packages: {debs[0].parent.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
