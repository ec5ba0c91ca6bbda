# SPDX-License-Identifier: BSD-3-Clause
"""The C++ semantics and the Coq semantics on one enumerated instance, row by row.

    agreement_test.py PROOFS AGREEMENT_ROWS

Coq evaluates the two tables of PROOFS/Agreement.v; AGREEMENT_ROWS computes them with
failover/semantics. Prints the first rows that differ; status 0 when none does.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FILES = ("Words", "Memory", "Operations", "Responder", "Agreement")
STEP_ROWS = 36 * 5  # 5 WRITE, 1 READ, 5 FADD, 25 CAS, on 5 words
RESPONDER_ROWS = 16 * 32 * 3  # first work request, second one on either cell, initial word
EVALUATE = """From Coq Require Import NArith List.
From PortcullisFailover Require Import Agreement.
Import ListNotations.
Local Open Scope N_scope.
Eval vm_compute in step_table.
Eval vm_compute in responder_table.
"""


def rows_of_coq(proofs: pathlib.Path) -> list[tuple[int, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            shutil.copy(proofs / f"{name}.v", folder)
        pathlib.Path(folder, "evaluate.v").write_text(EVALUATE, encoding="utf-8")
        for name in (*FILES, "evaluate"):
            done = subprocess.run(["coqc", "-q", "-Q", ".", "PortcullisFailover", f"{name}.v"],
                                  cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"coqc {name}.v: {done.stderr.strip()}")
    rows = re.findall(r"\[([\d;\s]+)\]", done.stdout)
    return [tuple(int(number) for number in row.split(";")) for row in rows]


def rows_of_cpp(program: str) -> list[tuple[int, ...]]:
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{program}: {done.stderr.strip()}")
    return [tuple(int(number) for number in line.split()) for line in done.stdout.splitlines()]


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: agreement_test.py PROOFS AGREEMENT_ROWS", file=sys.stderr)
        return 2
    coq = rows_of_coq(pathlib.Path(arguments[0]))
    cpp = rows_of_cpp(arguments[1])
    expected = STEP_ROWS + RESPONDER_ROWS
    differ = [(left, right) for left, right in zip(coq, cpp) if left != right]
    for left, right in differ[:5]:
        print(f"Coq {' '.join(map(str, left))}\nC++ {' '.join(map(str, right))}")
    print(f"{len(coq)} rows of Coq, {len(cpp)} of C++, {expected} expected, {len(differ)} differ")
    return 0 if len(coq) == len(cpp) == expected and not differ else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
