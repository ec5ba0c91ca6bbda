#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes DIR/report.html of a run of ./dev bench: one page that needs nothing else.

    report.py DIR --conclusion FILE [--chart-js FILE]

What the run came to (FILE holds bench_summary's lines), the percentile curves of a few series at a
time, every series in a table, and what it ran on. Chart.js of the Debian package libjs-chart.js
draws the curves and is copied into the page; so are page.css and page.js beside this script.

exit status: 0 written, 1 bad arguments, or a file that cannot be read or written
"""

import argparse
import html
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import files  # noqa: E402  pylint: disable=wrong-import-position

CHART_JS = "/usr/share/javascript/chart.js/chart.min.js"
MOST_CURVES = 8
COLUMNS = (("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max"))
TITLES = {"card-timing": "the card's timing", "driver": "the driver's own share",
          "": "this device"}


def read_text(path: str | pathlib.Path) -> str:
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise files.RunError(f"{path}: {error}") from None


def group_of(series: files.Series) -> str:
    """What the plans have in common that are drawn together; else the clock alone."""
    words = series.words()
    clock = words.pop("clock", "")
    if words.pop("plan", None) is None:
        words = {"": words[""].split("/")[0]}
    rest = [words.pop("")] + [f"{key} {value}" for key, value in words.items()]
    name = ", ".join(filter(None, [*rest, clock and f"{clock} clock"]))
    return f"{series.program}, {TITLES[series.folder]}: {name}"


def has_one_value(series: files.Series) -> bool:
    return len({ns for _, ns in series.curve}) == 1


def groups(programs: list[files.Program]) -> list[dict]:
    """At most MOST_CURVES series at a time, as the page's script reads them."""
    found: dict[tuple[str, bool], list[files.Series]] = {}
    for program in programs:
        for series in program.series:
            if series.curve:
                found.setdefault((group_of(series), has_one_value(series)), []).append(series)
    parts = []
    for (name, one_value), members in found.items():
        for first in range(0, len(members), MOST_CURVES):
            some = members[first:first + MOST_CURVES]
            of = (f" ({first + 1} to {first + len(some)} of {len(members)})"
                  if len(members) > MOST_CURVES else "")
            parts.append({"name": name + of, "one_value": one_value,
                          "series": [{"label": one.words().get("plan", one.name),
                                      "curve": one.curve} for one in some]})
    return parts


def cell(values: list[float]) -> str:
    """The repetitions' least and greatest, where there are several that differ."""
    if not values:
        return "-"
    low, high = files.duration_text(min(values)), files.duration_text(max(values))
    return low if low == high else f"{low} .. {high}"


def table_row(series: files.Series) -> str:
    name = f'<td class="t">{html.escape(series.name)}</td>'
    columns = len(COLUMNS) + 1
    if series.error:
        return (f'<tr>{name}<td class="t bad" colspan="{columns}">not measured: '
                f"{html.escape(series.error)}</td></tr>")
    if series.count() == 0:
        return f'<tr>{name}<td class="t" colspan="{columns}">no samples</td></tr>'
    if series.is_one_value:
        value = files.duration_text(series.values("max")[0])
        return (f'<tr>{name}<td>{value}</td><td class="t" colspan="{columns - 2}">deterministic, '
                f"one value</td><td>{series.count()}</td></tr>")
    cells = "".join(f"<td>{cell(series.values(counter))}</td>" for counter, _ in COLUMNS)
    return f"<tr>{name}{cells}<td>{series.count()}</td></tr>"


def section(program: files.Program) -> str:
    heads = "".join(f"<th>{title}</th>" for _, title in COLUMNS)
    context = "; ".join(f"{key}: {value}" for key, value in program.context.items())
    return (f"<h2>{html.escape(program.name)}, {TITLES[program.folder]}</h2>\n"
            f'<div class="wide"><table><tr><th class="t">series</th>{heads}<th>samples</th></tr>\n'
            + "\n".join(map(table_row, program.series)) + "</table></div>\n"
            f'<details><summary class="note">what it ran on</summary><p class="note">'
            f"{html.escape(context)}</p></details>\n")


def said(conclusion: str) -> str:
    lines = [line for line in conclusion.splitlines() if line.strip()]
    items = []
    for line in lines:
        style = ' class="bad"' if line.startswith("BYTES CHANGED") else ""
        items.append(f"<li{style}>{html.escape(line)}</li>\n")
    return '<ul class="said">\n' + "".join(items) + "</ul>\n"


def page(programs: list[files.Program], conclusion: str, chart_js: str) -> str:
    context = programs[0].context
    is_emulated = any(each.context.get("emulated", "no") != "no" for each in programs)
    emulated = "Emulated: no figure here is the latency of a NIC. " if is_emulated else ""
    commit = context.get("commit", "")
    # "</script>" inside a string of the data would end it.
    data = json.dumps({"groups": groups(programs)}).replace("<", "\\u003c")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>Portcullis: what a revoke takes</title>\n"
        f"<style>\n{read_text(HERE / 'page.css')}</style>\n</head>\n<body>\n"
        "<h1>Portcullis: what a revoke takes</h1>\n"
        f'<p class="note">{emulated}{html.escape(context.get("date", ""))}'
        f"{html.escape(f', commit {commit}' if commit else '')}</p>\n"
        f"{said(conclusion)}"
        "<h2>Pictures</h2>\n"
        '<p><label for="group">Series that are drawn: </label><select id="group"></select></p>\n'
        '<div class="curves"><canvas id="curves" role="img" '
        'aria-label="time by share of the samples"></canvas></div>\n'
        '<p class="note">How long (upwards) the fastest so many of a hundred samples took; the '
        "last step of each curve is its slowest sample. Series of one value have a bar.</p>\n"
        f"{''.join(map(section, programs))}"
        '<p class="note">Percentiles stand only over samples enough for them; "a .. b" are the '
        "least and the greatest of several repetitions. docs/benchmarks.md says what each series "
        "is. Curves are drawn by Chart.js (MIT licence).</p>\n"
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>\n{chart_js}\n</script>\n<script>\n{read_text(HERE / 'page.js')}</script>\n"
        "</body>\n</html>\n")


def write_new(path: pathlib.Path, text: str) -> None:
    """Whole or not at all, and never through a link."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(part, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise files.RunError(f"{path}: {error.strerror}") from None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--conclusion", required=True, metavar="FILE")
    parser.add_argument("--chart-js", default=CHART_JS, metavar="FILE")
    parser.error = lambda message: (_ for _ in ()).throw(files.RunError(message))
    try:
        options = parser.parse_args(arguments)
        programs = files.read_run(options.directory)
        chart_js = read_text(options.chart_js)
        if "</script" in chart_js:
            raise files.RunError(f"{options.chart_js}: has </script in it")
        write_new(pathlib.Path(options.directory) / "report.html",
                  page(programs, read_text(options.conclusion), chart_js))
    except files.RunError as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
