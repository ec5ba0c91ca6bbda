# SPDX-License-Identifier: BSD-3-Clause
"""The published schema takes every protocol that stands in the documents, and schema and program
refuse the same slips.

    schema_test.py SCHEMA FOLDER PROGRAM
"""

import copy
import json
import pathlib
import subprocess
import sys

import jsonschema


def slips(good: dict) -> list[tuple[str, dict]]:
    """One slip each of those that a schema can say."""
    def spoilt(change) -> dict:
        text = copy.deepcopy(good)
        change(text)
        return text
    return [
        ("unknown field", spoilt(lambda t: t.update(step=[]))),
        ("no name", spoilt(lambda t: t.pop("protocol"))),
        ("a name of two lines", spoilt(lambda t: t.update(protocol="a\nb"))),
        ("no steps", spoilt(lambda t: t.update(steps=[]))),
        ("opcode", spoilt(lambda t: t["work_requests"][0].update(opcode="WIRTE"))),
        ("packets", spoilt(lambda t: t["work_requests"][0].update(packets=9))),
        ("negative word", spoilt(lambda t: t["work_requests"][0].update(operand=-1))),
        ("two verbs", spoilt(lambda t: t["steps"][0].update(end=True))),
        ("no verb", spoilt(lambda t: t["steps"].append({"label": "x"}))),
        ("claim", spoilt(lambda t: t["steps"].append({"report": "maybe"}))),
        ("clients", spoilt(lambda t: t.update(clients=9))),
        ("fence", spoilt(lambda t: t.update(fence="rkey"))),
        ("environment", spoilt(lambda t: t.update(environments={"quiet": {"recever": []}}))),
    ]


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print("usage: schema_test.py SCHEMA FOLDER PROGRAM", file=sys.stderr)
        return 2
    schema = json.loads(pathlib.Path(arguments[0]).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    files = sorted(pathlib.Path(arguments[1]).glob("*/*.json"))
    wrong = [f"{path.name}: {error.message}" for path in files
             for error in validator.iter_errors(json.loads(path.read_text(encoding="utf-8")))]
    good = json.loads(next(p for p in files if p.name == "lease.json").read_text(encoding="utf-8"))
    for name, text in slips(good):
        if validator.is_valid(text):
            wrong.append(f"{name}: the schema takes it")
        run = subprocess.run([arguments[2], "check", "-"], input=json.dumps(text), text=True,
                             capture_output=True, check=False)
        if run.returncode != 2 or not run.stderr.startswith("failover-check: standard input:"):
            wrong.append(f"{name}: the program says {run.returncode} {run.stderr!r}")
    for line in wrong:
        print(line)
    print(f"{len(files)} files, {len(slips(good))} slips, {len(wrong)} wrong")
    return 1 if wrong or len(files) < 28 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
