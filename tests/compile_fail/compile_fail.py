#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compile_fail.py ROOT CASE.cpp COMPILER [OPTION..]: a program is refused, and for its reason.

With CONTROL defined the case must compile; without, the compiler must refuse it with an error that
matches the line "// reason: REGEX" of the case. So neither a missing header nor a typing error in
the case passes for a refusal.
"""
import pathlib
import re
import subprocess
import sys


def compile_case(root, case, compiler, define):
    command = [*compiler, "-std=c++20", "-fsyntax-only", "-I", root, "-I", f"{root}/include",
               *define, case]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.returncode == 0, run.stdout + run.stderr


def main(root, case, *compiler):
    reason = re.search(r"^// reason: (.+)$", pathlib.Path(case).read_text(), re.M).group(1)
    accepted, text = compile_case(root, case, compiler, ["-DCONTROL"])
    if not accepted:
        sys.exit(f"{case}: the control does not compile:\n{text}")
    accepted, text = compile_case(root, case, compiler, [])
    if accepted:
        sys.exit(f"{case}: compiles")
    if "error: " not in text or not re.search(reason, text):
        sys.exit(f"{case}: refused, but not because of '{reason}':\n{text}")
    print(f"{case}: refused because of '{reason}'")


main(*sys.argv[1:])
