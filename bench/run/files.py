# SPDX-License-Identifier: BSD-3-Clause
"""The files of one run of ./dev bench: what the programs wrote, read back.

A run is a directory. In it, and in the folders card-timing/ and driver/ of it, lie PROGRAM.json as
Google Benchmark writes it and SERIES.hgrm, the percentiles as HdrHistogram's text.
"""

import dataclasses
import json
import math
import pathlib

FOLDERS = ("card-timing", "driver", "")
PROGRAMS = ("floor_bench", "revoke_bench")  # the conclusion's come first
# Counters that are the distribution itself, and what Google Benchmark adds of its own.
DISTRIBUTION = ("p50", "p90", "p99", "p999", "max", "count")
OWN = ("family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads",
       "iterations", "real_time", "cpu_time")


class RunError(Exception):
    """One line for the user."""


@dataclasses.dataclass
class Series:
    """A series; one entry of `repetitions` each time that it was taken."""

    folder: str
    program: str
    name: str
    repetitions: list[dict[str, float]] = dataclasses.field(default_factory=list)
    error: str = ""
    curve: list[tuple[float, float]] = dataclasses.field(default_factory=list)  # quantile, ns

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.folder, self.program, self.name)

    @property
    def is_virtual(self) -> bool:
        return self.name.endswith("/clock:virtual")

    @property
    def is_one_value(self) -> bool:
        """Every sample of every repetition took the same time."""
        values = {each[name] for each in self.repetitions for name in ("p50", "max")
                  if name in each}
        return self.is_virtual and len(values) == 1 and self.count() > 0

    def count(self) -> int:
        return int(sum(each.get("count", 0) for each in self.repetitions))

    def values(self, counter: str) -> list[float]:
        return [each[counter] for each in self.repetitions if counter in each]

    def words(self) -> dict[str, str]:
        """`a/plan:seed/leases:1` as {"": "a", "plan": "seed", "leases": "1"}."""
        words = {"": ""}
        for part in self.name.split("/"):
            key, colon, value = part.partition(":")
            if colon:
                words[key] = value
            else:
                words[""] = "/".join(filter(None, (words[""], part)))
        return words


@dataclasses.dataclass
class Program:
    folder: str
    name: str
    context: dict[str, str]
    series: list[Series]


def file_part(name: str) -> str:
    """As bench/common/report.cpp names the files of a series."""
    part = ""
    for c in name:
        kept = c if c.isascii() and (c.isalnum() or c in "_.") else "." if c == "/" else "-"
        if kept != "-" or not part.endswith("-"):
            part += kept
    return part


def read_curve(path: pathlib.Path) -> list[tuple[float, float]]:
    """Quantile and nanoseconds of each line. Empty when there is no such file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    curve = []
    for line in lines[1:]:
        columns = line.split()
        if not columns or columns[0].startswith("#"):
            continue
        try:
            value_us, quantile = float(columns[0]), float(columns[1])
        except (ValueError, IndexError):
            raise RunError(f"{path}: no percentile line: {line.strip()!r}") from None
        if not (math.isfinite(value_us) and 0 <= quantile <= 1):
            raise RunError(f"{path}: no percentile line: {line.strip()!r}")
        curve.append((quantile, value_us * 1e3))
    return curve


def read_program(path: pathlib.Path, folder: str) -> Program:
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
        context, entries = parsed["context"], parsed["benchmarks"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: not what a bench program writes: {error}") from None
    series: dict[str, Series] = {}
    for entry in entries:
        if entry.get("run_type", "iteration") != "iteration":
            continue  # means over repetitions
        name = entry.get("name", "").split("/iterations:")[0]
        one = series.setdefault(name, Series(folder, path.stem, name))
        if entry.get("error_occurred"):
            one.error = entry.get("error_message", "no reason given")
            continue
        one.repetitions.append({key: float(value) for key, value in entry.items()
                                if isinstance(value, (int, float)) and key not in OWN})
    for one in series.values():
        one.curve = read_curve(path.parent / (file_part(one.name) + ".hgrm"))
    return Program(folder, path.stem,
                   {key: value for key, value in context.items() if isinstance(value, str)},
                   list(series.values()))


def read_run(directory: str) -> list[Program]:
    """Its programs, those of the card's timing first. RunError when there is none."""
    root = pathlib.Path(directory)
    if not root.is_dir():
        raise RunError(f"{directory}: no such directory; a run of ./dev bench is accepted")
    def order(path: pathlib.Path) -> tuple[int, str]:
        return (PROGRAMS.index(path.stem) if path.stem in PROGRAMS else len(PROGRAMS), path.stem)
    programs = [read_program(path, folder) for folder in FOLDERS
                for path in sorted((root / folder).glob("*_bench.json"), key=order)]
    if not programs:
        raise RunError(f"{directory}: no *_bench.json in it, in card-timing/ or in driver/; a run "
                       "of ./dev bench is accepted")
    return programs


def duration_text(ns: float) -> str:
    """1500000 is "1.5 ms", as base/histogram.cpp writes it."""
    if ns >= 999.5e9:
        return f"{ns / 1e9:.0f} s"
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= scale * 0.9995:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns:.3g} ns"
