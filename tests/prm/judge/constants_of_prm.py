#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a C++ program that prints the constants of prm/ under their kernel names.

Usage: constants_of_prm.py ROOT OUT.cpp. What a constant is called in the kernel stands in prm/
itself: an enum says "// PREFIX_*" above it, an enumerator or constant that differs says its whole
name behind it. Printed are "NAME<tab>value", "sizeof LAYOUT<tab>bits", and for what no installed
header can confirm "unjudged NAME<tab>value".
"""
import pathlib
import re
import sys

# Enums that are this project's own and have no counterpart in a header.
OWN_ENUMS = {"MemberKind", "Access", "EntryOwner", "Detail", "TraceAnswer"}
ENUM = re.compile(r"((?://[^\n]*\n)*)enum class (\w+)[^{;]*\{(.*?)\};", re.S)
KERNEL_NAME = re.compile(r"\b((?:MLX5|IBV)_[A-Z0-9_]+[A-Z0-9])\b")
NO_HEADER = ("newer than Linux 6.1", "older than Linux 3.19", "no name in the header",
             "source file only")


def enumerators(name, body):
    """(C++ expression, kernel suffix, comment) of each enumerator."""
    if "PORTCULLIS_PRM_OPCODES" in body:
        return None
    found = []
    for line in body.splitlines():
        code, _, comment = line.partition("//")
        found += [(f"{name}::{e}", e, comment) for e in re.findall(r"(\w+) =", code)]
    return found


def constants(path):
    text = path.read_text()
    rows = []
    for above, name, body in ENUM.findall(text):
        if not body.strip():
            continue  # a number as a type of its own; it names no constant
        prefix = re.search(r"// (\w+_)\*", above)
        if prefix is None:
            if name not in OWN_ENUMS:
                sys.exit(f"{path}: enum {name} does not say its kernel spelling ('// PREFIX_*')")
            continue
        found = enumerators(name, body)
        if found is None:
            lists = re.findall(r"((?://[^\n]*\n)*)#define \w+_OPCODES\(X\)(.*?)(?<!\\)\n", text,
                               re.S)
            found = [(f"{name}::{e}", suffix, comment) for comment, rows in lists
                     for e, suffix in re.findall(r'X\((\w+), 0x\w+, "(\w+)"\)', rows)]
        if not found:
            sys.exit(f"{path}: no enumerator found in {name}")
        for expression, suffix, comment in found:
            whole = KERNEL_NAME.search(comment)
            kernel = whole.group(1) if whole else prefix.group(1) + suffix
            judged = not any(s in comment + above for s in NO_HEADER)
            rows.append((expression, kernel, judged))
    for name, kernel in re.findall(r"constexpr std::\w+ (k\w+) =\s*[^;]+;\s*// (\w+)\n", text):
        if KERNEL_NAME.fullmatch(kernel):
            rows.append((name, kernel, True))
    return rows


def main(root, out):
    headers = sorted(pathlib.Path(root, "prm").glob("*.hpp"))
    lines = ["#include <cstdio>", '#include "prm/registry.hpp"']
    lines += [f'#include "prm/{h.name}"' for h in headers]
    lines += ["using namespace portcullis::prm;", "int main() {"]
    for header in headers:
        for expression, kernel, judged in constants(header):
            key = kernel if judged else f"unjudged {kernel}"
            lines.append(f'  std::printf("{key}\\t%llu\\n", '
                         f"static_cast<unsigned long long>({expression}));")
    lines += ["  for (const LayoutInfo& layout : kLayouts)",
              '    std::printf("sizeof %.*s\\t%u\\n", static_cast<int>(layout.name.size()),',
              "                layout.name.data(), layout.bits);", "}", ""]
    pathlib.Path(out).write_text("\n".join(lines))


main(*sys.argv[1:])
