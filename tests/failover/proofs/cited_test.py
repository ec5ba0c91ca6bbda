# SPDX-License-Identifier: BSD-3-Clause
"""Every theorem that a verdict of failover/classify or a document cites is a theorem of the proofs.

    cited_test.py PROOFS CLASSIFY_CPP DOCUMENT ..
"""

import pathlib
import re
import sys

THEOREM = re.compile(r"^[ \t]*(?:Theorem|Lemma|Corollary) ([\w']+)", re.MULTILINE)
# The last member of a pair of literals: {"reason", "lemma, lemma"}.
CITED_IN_CODE = re.compile(r'",\s*"(\w+(?:, \w+)*)"\s*\}')
# In a document: a name in backticks.
CITED_IN_TEXT = re.compile(r"`([a-z]\w*_\w+)`")


def main(arguments: list[str]) -> int:
    if len(arguments) < 3:
        print("usage: cited_test.py PROOFS CLASSIFY_CPP DOCUMENT ..", file=sys.stderr)
        return 2
    proofs, classify, *documents = map(pathlib.Path, arguments)
    theorems = set()
    for path in proofs.glob("*.v"):
        theorems |= set(THEOREM.findall(path.read_text(encoding="utf-8")))
    code = classify.read_text(encoding="utf-8")
    cited = {(classify.name, name) for names in CITED_IN_CODE.findall(code)
             for name in names.split(", ")}
    for document in documents:
        text = document.read_text(encoding="utf-8")
        cited |= {(document.name, name) for name in CITED_IN_TEXT.findall(text)}
    unknown = sorted(pair for pair in cited if pair[1] not in theorems)
    for file, name in unknown:
        print(f"{file} cites {name}, which is no theorem of {proofs.name}")
    print(f"{len(theorems)} theorems, {len(cited)} cited, {len(unknown)} of them unknown")
    return 1 if unknown or len(cited) < 10 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
