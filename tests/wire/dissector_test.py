# SPDX-License-Identifier: BSD-3-Clause
"""What wire-samples wrote is what tshark reads with the dissector: every member of every message.

    dissector_test.py WIRE_SAMPLES PORTCULLIS_LUA

The offsets are read from docs/wire.md, so page, dissector and layouts are three opinions.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "wire.md"
MEMBER = re.compile(r"(\d+) `(\w+)` (\d+)")
# The messages of wire-samples that count up, in its order: what the page calls the paragraph, and
# whether its request or its answer is meant.
COUNTING = [("HELLO", 0), ("HELLO", 1), ("LEASE_ALLOC", 0), ("LEASE_ALLOC", 1), ("LEASE_RENEW", 0),
            ("LEASE_RENEW", 1), ("LEASE_REVOKE", 0), ("LEASE_REVOKE", 1), ("REVOKE_TENANT", 0),
            ("REVOKE_TENANT", 1), ("LEASE_LIST", 0), None, ("LEASE_WATCH", 0), ("LEASE_WATCH", 1),
            ("STATUS", 0), ("STATUS", 1), ("LEASE_HISTORY", 0), None,
            ("LEASE_CHALLENGE", 0), ("LEASE_CHALLENGE", 1), ("REVOKED, EXPIRED", 0),
            ("REVOKED, EXPIRED", 0),
            ("SERVER_RESTARTED", 0), None]
BYTES = {"gid", "mac", "nonce"}
TEXTS = {"client_name", "device"}


def members(paragraph: str, part: int) -> list[tuple[int, str, int]]:
    """(offset, name, bytes) as the page lists them."""
    text = PAGE.read_text(encoding="utf-8")
    start = text.index(f"**{paragraph}**")
    body = text[start:text.index("\n\n", start)]
    half = re.split(r"Answer, ", body)[part]
    return [(int(o), n, int(b)) for o, n, b in MEMBER.findall(half)]


def counted(offset: int, length: int) -> bytes:
    return bytes(0x20 + (offset + i) % 0x50 for i in range(length))


def wanted(name: str, raw: bytes) -> str:
    if name in BYTES:
        return raw.hex(":")
    if name in TEXTS:
        return raw.decode("ascii")
    return str(int.from_bytes(raw, "little"))


def shown(name: str, value: str) -> str:
    if name in BYTES or name in TEXTS:
        return value
    return str(int(value, 0))


def flat(layer) -> list[tuple[str, str]]:
    found = []
    for key, value in layer.items():
        if isinstance(value, dict):
            found += flat(value)
            continue
        for each in value if isinstance(value, list) else [value]:
            found += flat(each) if isinstance(each, dict) else [(key.split(".")[-1], each)]
    return found


class Dissector(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Wireshark 4.4 passes over every Lua script where root runs it, in silence.
        somebody = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            capture, script = f"{folder}/frames.pcap", f"{folder}/portcullis.lua"
            subprocess.run([SAMPLES, capture], check=True)
            shutil.copy(LUA, script)
            for each in capture, script:
                os.chmod(each, 0o644)
            said = subprocess.run(
                ["tshark", "-X", f"lua_script:{script}", "-r", capture, "-T", "json",
                 "--no-duplicate-keys"], check=True, capture_output=True, text=True,
                env=os.environ | {"HOME": folder}, **(somebody if os.geteuid() == 0 else {}))
        cls.layers = [p["_source"]["layers"]["portcullis"] for p in json.loads(said.stdout)]

    def test_every_message_is_read(self):
        self.assertEqual(len(self.layers), len(COUNTING))

    def test_nothing_is_called_wrong(self):
        for at, layer in enumerate(self.layers):
            self.assertNotIn("bad_length", json.dumps(layer), at)
            self.assertNotIn("bad_reserved", json.dumps(layer), at)

    def test_every_member_has_the_bytes_of_the_pages_offset(self):
        checked = 0
        for layer, message in zip(self.layers, COUNTING):
            for offset, name, length in members(*message) if message else []:
                values = [shown(name, v) for n, v in flat(layer) if n == name]
                self.assertIn(wanted(name, counted(offset, length)), values, (message, name))
                checked += 1
        self.assertGreater(checked, 70)

    def test_rows_of_a_list(self):
        found = flat(self.layers[11])
        self.assertEqual([int(v, 0) for n, v in found if n == "id"], [0x11, 0x21])
        self.assertEqual([int(v) for n, v in found if n == "state"], [3, 1])
        self.assertEqual([int(v) for n, v in found if n == "left_ms"], [0, 0x22])
        self.assertEqual([int(v, 0) for n, v in found if n == "next_cursor"], [0x77])

    def test_a_refusal_says_why(self):
        found = dict(flat(self.layers[-1]))
        self.assertEqual(found["text"], "12 leases; at most 10")
        self.assertEqual(int(found["code"]), 7)


if __name__ == "__main__":
    SAMPLES, LUA = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
