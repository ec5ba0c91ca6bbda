# SPDX-License-Identifier: BSD-3-Clause
"""The published schema of dumps takes what the program takes, and both refuse the same slips.

    dump_schema_test.py SCHEMA PROGRAM
"""

import copy
import json
import pathlib
import subprocess
import sys

import jsonschema

WRITE = {"wr_id": 7, "opcode": "IBV_WR_RDMA_WRITE", "rkey": "0x1000", "remote_addr": "0x20000",
         "length": 12, "qp_num": 17, "psn": 900, "status": "IBV_WC_RETRY_EXC_ERR",
         "send_flags": ["IBV_SEND_SIGNALED", "IBV_SEND_INLINE"],
         "sg_list": [{"addr": 4096, "length": 8, "lkey": "0x1"}, {"addr": "0x2000", "length": 4}],
         "evidence": {"holds_source": True}}
ADD = {"wr_id": 8, "opcode": "IBV_WR_ATOMIC_FETCH_AND_ADD", "rkey": 4096, "remote_addr": 131080,
       "compare_add": 1, "qp_num": 17, "psn": 901, "imm_data": 1, "invalidate_rkey": 2, "swap": 3,
       "evidence": {"applied": True, "word": 6, "word_before": "0x5"}}
GOOD = {"regions": [{"rkey": "0x1000", "environment": "reuse", "consumer": "notified",
                     "fenced": True, "unique_tags": True, "nothing_later": True}],
        "work_requests": [WRITE, ADD],
        "queue_pairs": [{"qp_num": 17, "fenced": True, "expected_psn": 902, "path_mtu": 1024,
                         "receives": 0}]}


def spoilt(change) -> dict:
    text = copy.deepcopy(GOOD)
    change(text)
    return text


def first(**fields) -> dict:
    return spoilt(lambda t: t["work_requests"][0].update(fields))


def region(**fields) -> dict:
    return spoilt(lambda t: t["regions"][0].update(fields))


def queue_pair(**fields) -> dict:
    return spoilt(lambda t: t["queue_pairs"][0].update(fields))


SLIPS = {
    "no regions": spoilt(lambda t: t.pop("regions")),
    "an unknown field": spoilt(lambda t: t.update(requests=[])),
    "no environment": spoilt(lambda t: t["regions"][0].pop("environment")),
    "an environment": region(environment="calm"),
    "a consumer": region(consumer="reads"),
    "a flag that is none": region(fenced=1),
    "a key of 33 bits": region(rkey="0x100000000"),
    "no wr_id": spoilt(lambda t: t["work_requests"][0].pop("wr_id")),
    "an opcode": first(opcode="RDMA_WRITE"),
    "a status": first(status="IBV_WC_OK"),
    "a negative address": first(remote_addr=-1),
    "an address of 17 digits": first(remote_addr="0x00000000000020000"),
    "a length with a fraction": first(length=12.5),
    "an address in octal": first(remote_addr="020000"),
    "a message beyond 2 GiB": first(length=2147483649),
    "a QP number of 25 bits": first(qp_num=1 << 24),
    "a PSN of 25 bits": first(psn="0x1000000"),
    "a buffer that is no list": first(sg_list={"addr": 1, "length": 12}),
    "a buffer without length": first(sg_list=[{"addr": 1}]),
    "a buffer with a key of ours": first(sg_list=[{"addr": 1, "length": 12, "rkey": 1}]),
    "a send flag": first(send_flags=["IBV_SEND_FAST"]),
    "send flags as a number": first(send_flags=2),
    "evidence": first(evidence={"seen": True}),
    "a path MTU": queue_pair(path_mtu=1500),
    "a QP that nobody has": queue_pair(qp_num="17"),
}


SAME = {
    "a length with a point": first(length=12.0),
    "an address of minus nothing": first(remote_addr=-0.0),
    "an address of 16 digits": first(remote_addr="0x0000000000020000"),
    "a key with zeros before it": region(rkey="0x000000000000000001000"),
}


def says(program: str, text: dict) -> subprocess.CompletedProcess:
    return subprocess.run([program, "classify", "-"], input=json.dumps(text), text=True,
                          capture_output=True, check=False)


def accepted(program: str, text: dict) -> set[str]:
    """The names that the program would have taken instead."""
    said = says(program, text).stderr
    return set(said.partition("one of ")[2].rpartition(" is accepted")[0].split(", "))


def differences(validator: jsonschema.Draft202012Validator, program: str) -> list[str]:
    wrong = [f"a good dump: {error.message}" for error in validator.iter_errors(GOOD)]

    good = says(program, GOOD)
    if good.returncode != 0:
        wrong.append(f"a good dump: the program says {good.stderr!r}")
    for name, text in SAME.items():
        if not validator.is_valid(text) or says(program, text).returncode != 0:
            wrong.append(f"{name}: {says(program, text).stderr!r}, or the schema refuses it")
    for name, text in SLIPS.items():
        if validator.is_valid(text):
            wrong.append(f"{name}: the schema takes it")
        said = says(program, text)
        if said.returncode != 2 or not said.stderr.startswith("failover-check: standard input:"):
            wrong.append(f"{name}: the program says {said.returncode} {said.stderr!r}")
    return wrong


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: dump_schema_test.py SCHEMA PROGRAM", file=sys.stderr)
        return 2
    schema = json.loads(pathlib.Path(arguments[0]).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    wrong = differences(jsonschema.Draft202012Validator(schema), arguments[1])
    fields = schema["$defs"]["work_request"]["properties"]
    for field, value, named in (("opcode", "x", fields["opcode"]["enum"]),
                                ("status", "x", fields["status"]["enum"]),
                                ("send_flags", ["x"], fields["send_flags"]["items"]["enum"])):
        if accepted(arguments[1], first(**{field: value})) != set(named):
            wrong.append(f"{field}: the schema and the program have other names")
    for line in wrong:
        print(line)
    print(f"{len(SLIPS)} slips, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
