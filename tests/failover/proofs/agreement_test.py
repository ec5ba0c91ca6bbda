# SPDX-License-Identifier: BSD-3-Clause
"""The C++ semantics and the Coq semantics on enumerated instances, row by row.

    agreement_test.py PROOFS AGREEMENT_ROWS

Coq evaluates the tables of PROOFS/Agreement.v; AGREEMENT_ROWS computes them with
failover/semantics. Histories are written by AGREEMENT_ROWS with what its judge says of them, and
judged by Coq. Prints the first rows that differ; status 0 when none does.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LAST = "Agreement"
STEP_ROWS = 36 * 5  # 5 WRITE, 1 READ, 5 FADD, 25 CAS, on 5 words
RESPONDER_ROWS = 16 * 32 * 3  # first work request, second one on either cell, initial word
WALK_ROWS = 9 * 9 * 3 * 4  # two work requests, how they are fenced, seeds
LEAST_HISTORIES = 40  # of each verdict
HISTORY = "history"
EVALUATE = """From Coq Require Import NArith List.
From PortcullisFailover Require Import Agreement.
Import ListNotations.
Local Open Scope N_scope.
Eval vm_compute in step_table.
Eval vm_compute in responder_table.
Eval vm_compute in walk_table.
"""

Row = tuple[int, ...]
History = tuple[Row, ...]  # its calls


def evaluation(histories: list[History]) -> str:
    def listed(items: list[str]) -> str:
        return "[" + "; ".join(items) + "]"
    calls = [listed([listed([str(number) for number in call]) for call in history])
             for history in histories]
    return f"{EVALUATE}Eval vm_compute in map (fun h => [judged h]) {listed(calls)}.\n"


def needed(proofs: pathlib.Path) -> list[str]:
    """Names of the files up to the last one, in the order of _CoqProject, which is that of need."""
    lines = (proofs / "_CoqProject").read_text(encoding="utf-8").splitlines()
    names = [line.removesuffix(".v") for line in lines if line.endswith(".v")]
    texts = {name: (proofs / f"{name}.v").read_text(encoding="utf-8") for name in names}
    wanted = {LAST}
    for name in reversed(names):
        if name in wanted:
            requires = re.findall(r"^From PortcullisFailover Require Import ([\w\s]+)\.$",
                                  texts[name], re.MULTILINE)
            wanted |= {word for words in requires for word in words.split()}
    return [name for name in names if name in wanted]


def rows_of_coq(proofs: pathlib.Path, histories: list[History]) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        files = needed(proofs)
        for name in files:
            shutil.copy(proofs / f"{name}.v", folder)
        pathlib.Path(folder, "evaluate.v").write_text(evaluation(histories), encoding="utf-8")
        for name in (*files, "evaluate"):
            done = subprocess.run(["coqc", "-q", "-Q", ".", "PortcullisFailover", f"{name}.v"],
                                  cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"coqc {name}.v: {done.stderr.strip()}")
    rows = re.findall(r"\[([\d;\s]+)\]", done.stdout)
    return [tuple(int(number) for number in row.split(";")) for row in rows]


def rows_of_cpp(program: str) -> tuple[list[Row], dict[History, int]]:
    """The rows of the tables; each history with the verdict on it."""
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{program}: {done.stderr.strip()}")
    rows, histories = [], {}
    for line in done.stdout.splitlines():
        if not line.startswith(HISTORY):
            rows.append(tuple(int(number) for number in line.split()))
            continue
        verdict, *calls = line.removeprefix(HISTORY).split("|")
        histories[tuple(tuple(map(int, call.split())) for call in calls)] = int(verdict)
    return rows, histories


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: agreement_test.py PROOFS AGREEMENT_ROWS", file=sys.stderr)
        return 2
    cpp, judged = rows_of_cpp(arguments[1])
    histories = sorted(judged)
    coq = rows_of_coq(pathlib.Path(arguments[0]), histories)
    cpp += [(judged[history],) for history in histories]
    expected = STEP_ROWS + RESPONDER_ROWS + WALK_ROWS + len(histories)
    differ = [(left, right) for left, right in zip(coq, cpp) if left != right]
    for left, right in differ[:5]:
        print(f"Coq {' '.join(map(str, left))}\nC++ {' '.join(map(str, right))}")
    for history, row in zip(histories, coq[-len(histories):]):
        if row != (judged[history],):
            print(f"Coq says {row} of {history}")
            break
    good = sum(judged.values())
    print(f"{len(coq)} rows of Coq, {len(cpp)} of C++, {expected} expected, {len(differ)} differ; "
          f"{good} of {len(histories)} histories are linearizable")
    enough = min(good, len(histories) - good) >= LEAST_HISTORIES
    return 0 if len(coq) == len(cpp) == expected and not differ and enough else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
