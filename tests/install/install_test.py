# SPDX-License-Identifier: BSD-3-Clause
"""Judges an installation as others meet it.

    install_test.py prefix PREFIX CMAKE BUILD      installs the library, and moves it to PREFIX
    install_test.py headers PREFIX COMPILER        every header compiles alone
    install_test.py symbols PREFIX NM              what libportcullis.so shows, and its name
    install_test.py places PREFIX SOURCE BUILD     no file names the tree it came from
    install_test.py find_package PREFIX COMPILER PROJECT CMAKE [--flags=..]
    install_test.py pkg_config PREFIX COMPILER PROJECT [--flags=..]
    install_test.py client PREFIX COMPILER C_COMPILER EXAMPLES CMAKE [--flags=..]
                                                   the client in C, by both, and its examples
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What tests/install/outside prints. The circle is that of the ring's three switches.
PRINTED = """\
version: 0.1.0
before: IBV_WC_SUCCESS (0), byte 66
after: IBV_WC_REM_ACCESS_ERR (10)
outcome: TornDown, memory proved by DESTROY_MKEY
wr 1: WRITE repost
wr 2: FADD never
cycle: sw0-sw1 sw1-sw2 sw2-sw0
residence: no bound
"""


class Broken(Exception):
    """One line for whoever reads the log."""


def run(command: list[str], **more) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **more)
    if done.returncode != 0:
        raise Broken(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def one(prefix: pathlib.Path, pattern: str) -> pathlib.Path:
    found = sorted(prefix.rglob(pattern))
    if not found:
        raise Broken(f"{prefix}: no {pattern}")
    return found[0]


def compare(printed: str):
    if printed != PRINTED:
        raise Broken(f"expected\n{PRINTED}\nbut was\n{printed}")


def prefix(target: str, cmake: str, build: str):
    first = pathlib.Path(target + ".first")
    for path in (first, pathlib.Path(target)):
        shutil.rmtree(path, ignore_errors=True)
    for component in ("library", "client", "development"):
        run([cmake, "--install", build, "--component", component, "--prefix", str(first)])
    first.rename(target)


def headers(target: str, compiler: str):
    include = pathlib.Path(target) / "include"
    found = sorted([*include.glob("portcullis/*.hpp"), *include.glob("portcullis/*.h")])
    if len(found) < 15:
        raise Broken(f"{include}: {len(found)} headers")
    strict = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only"]
    for header in found:
        # Twice: a header has a guard, or it has none.
        text = f"#include <portcullis/{header.name}>\n" * 2
        run([compiler, *strict, "-I", str(include), "-x", "c++", "-"], input=text)


def symbols(target: str, nm: str):
    library = one(pathlib.Path(target), "libportcullis.so")
    shown = run([nm, "-D", "--defined-only", str(library)])
    # llvm-nm leaves names with a version behind them as they are, so c++filt makes them readable.
    bare = [line.split(maxsplit=2)[2].split("@")[0] for line in shown.splitlines()]
    names = run(["c++filt"], input="\n".join(bare)).splitlines()
    names = [name for name in names if name != "PORTCULLIS"]  # the version's own
    headers = pathlib.Path(target) / "include" / "portcullis"
    known = set(re.findall(r"\b\w+\b", "".join(h.read_text() for h in headers.glob("*.hpp"))))
    in_c = set(re.findall(r"\b(portcullis_\w+)\(", "".join(h.read_text()
                                                          for h in headers.glob("*.h"))))
    if not in_c <= set(names):
        raise Broken(f"{library} does not show {', '.join(sorted(in_c - set(names)))}")
    for name in names:
        if name in in_c:
            continue
        match = re.match(r"portcullis::((?:\w+::)*)(~?\w+)", name)
        around = match.group(1).split("::")[:-1] if match else ["Impl"]
        words = {*around, match.group(2).lstrip("~")} if match else set()
        inside = "Impl" in around or any(word[0].islower() for word in around)
        if inside or not words <= known:
            raise Broken(f"{library} shows {name}")
    if not any(name.startswith("portcullis::Port::open(") for name in names):
        raise Broken(f"{library} does not show Port::open:\n{shown}")
    if library.resolve().name != "libportcullis.so.0.1.0":
        raise Broken(f"{library} leads to {library.resolve().name}")


def places(target: str, source: str, build: str):
    for path in sorted(pathlib.Path(target).rglob("*")):
        if path.suffix not in (".cmake", ".pc", ".hpp", ".h", ".py"):
            continue
        for place in (source, build, target + ".first"):
            if place in path.read_text(encoding="utf-8"):
                raise Broken(f"{path} names {place}")


def find_package(target: str, compiler: str, project: str, cmake: str, flags: str):
    with tempfile.TemporaryDirectory() as build:
        run([cmake, "-G", "Ninja", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={target}",
             f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CXX_FLAGS={flags}",
             "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF"])
        run([cmake, "--build", build])
        compare(run([f"{build}/outside"]))


def pkg_config(target: str, compiler: str, project: str, flags: str):
    described = one(pathlib.Path(target), "portcullis.pc").parent
    environment = os.environ | {"PKG_CONFIG_PATH": str(described)}
    asked = run(["pkg-config", "--cflags", "--libs", "portcullis"], env=environment).split()
    library = one(pathlib.Path(target), "libportcullis.so").parent
    with tempfile.TemporaryDirectory() as build:
        program = f"{build}/outside"
        run([compiler, "-std=c++20", *flags.split(), f"{project}/main.cpp", "-o", program, *asked])
        compare(run([program], env=os.environ | {"LD_LIBRARY_PATH": str(library)}))


def refused(command: list[str], line: str, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **more)
    if done.returncode != 2 or not re.fullmatch(line + "\n", done.stderr):
        raise Broken(f"{' '.join(command)}: exit {done.returncode}, {done.stderr!r} for {line!r}")


# Of CMake: the client alone, in a project that knows no C++.
C_PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES C)
find_package(Portcullis 0.1 REQUIRED COMPONENTS client)
add_executable(lease_client lease_client.c)
target_link_libraries(lease_client PRIVATE Portcullis::client)
"""


def client(target: str, compiler: str, c_compiler: str, examples: str, cmake: str, flags: str):
    described = one(pathlib.Path(target), "portcullis-client.pc").parent
    environment = os.environ | {
        "PKG_CONFIG_PATH": str(described),
        "LD_LIBRARY_PATH": str(one(pathlib.Path(target), "libportcullis-client.so").parent)}

    def asked(*names: str) -> list[str]:
        return run(["pkg-config", "--cflags", "--libs", *names], env=environment).split()

    nobody = "lease_client: no leased listens on /nowhere"
    with tempfile.TemporaryDirectory() as folder:
        # As they are installed: with nothing beside them but each other.
        for name in ("lease_client.c", "kv_store.cpp", "kv_log.hpp", "kv_place.hpp"):
            shutil.copy(f"{examples}/{name}", folder)
        run([c_compiler, *flags.split(), "lease_client.c", "-o", "by_pkg_config",
             *asked("portcullis-client")], cwd=folder, env=environment)
        refused([f"{folder}/by_pkg_config", "/nowhere"], nobody, env=environment)
        run([compiler, "-std=c++20", *flags.split(), "kv_store.cpp", "-o", "kv_store",
             *asked("portcullis-client", "libibverbs")], cwd=folder, env=environment)
        refused([f"{folder}/kv_store", "--server", "s", "--depth", "65"],
                "kv_store: --depth 65: a number from 1 to 64 is accepted", env=environment)
        pathlib.Path(folder, "CMakeLists.txt").write_text(C_PROJECT, encoding="utf-8")
        run([cmake, "-G", "Ninja", "-S", folder, "-B", f"{folder}/build",
             f"-DCMAKE_PREFIX_PATH={target}", f"-DCMAKE_C_COMPILER={c_compiler}",
             f"-DCMAKE_C_FLAGS={flags}", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF"])
        run([cmake, "--build", f"{folder}/build"])
        refused([f"{folder}/build/lease_client", "/nowhere"], nobody)


def main(arguments: list[str]) -> int:
    known = (prefix, headers, symbols, places, find_package, pkg_config, client)
    what = {function.__name__: function for function in known}.get(arguments[0])
    plain = [word for word in arguments[1:] if not word.startswith("--flags=")]
    named = {"flags": word[len("--flags="):] for word in arguments if word.startswith("--flags=")}
    try:
        what(*plain, **named)
    except Broken as broken:
        print(broken)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
