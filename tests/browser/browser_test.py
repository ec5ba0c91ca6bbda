# SPDX-License-Identifier: BSD-3-Clause
"""Every HTML report, in a browser: no script fails, nothing is fetched, each choice can be made,
and the page is no wider than its window, of 1280 pixels and of 390.

    browser_test.py SOURCE OUT PROGRAM .. [-k NAME]     OUT gets the pages and a picture of each
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE, OUT = map(pathlib.Path, sys.argv[1:3])
PROGRAMS = {pathlib.Path(path).name: pathlib.Path(path) for path in sys.argv[3:] if "/" in path}
WIDTHS = (1280, 390)
LIMIT_S = 600
LEAST_PICTURE = 8 << 10  # bytes; an empty one of that size has a few hundred

# Before anything of the page: what goes wrong in it is kept.
HEARS = """<script>window.wrong = [];
addEventListener("error", e => wrong.push(String(
  e.message || "not loaded: " + e.target.src)), true);
addEventListener("unhandledrejection", e => wrong.push(String(e.reason)));
console.error = (...words) => wrong.push(words.join(" "));
</script>"""
# Behind all of it: makes each choice, and tells the window around it what there is.
TELLS = """<script>addEventListener("load", () => requestAnimationFrame(() => {
  const empty = [];
  let choices = 0;
  for (const list of document.querySelectorAll("select"))
    for (const option of list.options) {
      list.value = option.value;
      list.dispatchEvent(new Event("change"));
      ++choices;
      for (const canvas of document.querySelectorAll("canvas")) {
        const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        if (!all.some(Boolean)) empty.push(option.textContent);
      }
    }
  const wide = [...document.querySelectorAll("body *")].filter(element => {
    for (let up = element.parentElement; up; up = up.parentElement)
      if (/auto|scroll|hidden/.test(getComputedStyle(up).overflowX)) return false;
    return element.getBoundingClientRect().right > innerWidth + 1;
  }).map(element => element.tagName + " " + element.textContent.slice(0, 40));
  parent.postMessage({wrong, empty, choices, wide: wide.slice(0, 3),
    width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight,
    fetched: performance.getEntriesByType("resource").map(entry => entry.name),
    letters: document.body.innerText.length}, "*");
}));</script>"""
WINDOW = """<!doctype html><meta charset=utf-8><body style="margin:0"><pre id=told></pre>
<iframe src="{page}" style="border:0;width:{width}px;height:900px"></iframe>
<script>addEventListener("message", e => told.textContent = JSON.stringify(e.data));</script>"""


def call(*command, status=(0,), **more):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL, **more)
    if done.returncode not in status:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def browse(*options):
    with tempfile.TemporaryDirectory() as home:
        return call("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    "--disable-dev-shm-usage", f"--user-data-dir={home}",
                    # Nothing answers there: a page that wants something of a network fails.
                    "--proxy-server=127.0.0.1:9", "--virtual-time-budget=20000", *options)


def look_at(page, width):
    """What the page tells of itself in a window of that width."""
    text = page.read_text(encoding="utf-8")
    heard = re.sub(r"(?i)(<html[^>]*>|<!doctype html>)", lambda found: found[0] + HEARS, text,
                   count=1)
    inside = page.with_name(f"{page.stem}-inside.html")
    inside.write_text(heard.replace("</html>", "") + TELLS, encoding="utf-8")
    window = page.with_name(f"{page.stem}-{width}-window.html")
    window.write_text(WINDOW.format(page=inside.name, width=width), encoding="utf-8")
    try:
        dom = browse("--dump-dom", window.resolve().as_uri())
    finally:
        inside.unlink()
        window.unlink()
    told = re.search(r"<pre id=\"told\">(.*?)</pre>", dom, re.S)[1]
    for written, meant in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        told = told.replace(written, meant)
    return json.loads(told)


class Reports(unittest.TestCase):
    def page(self, name):
        OUT.mkdir(parents=True, exist_ok=True)
        path = OUT / f"{name}.html"
        path.unlink(missing_ok=True)
        return path

    def judge(self, page, choices=0):
        for width in WIDTHS:
            with self.subTest(page.stem, width=width):
                told = look_at(page, width)
                self.assertEqual((told["wrong"], told["fetched"], told["empty"]), ([], [], []))
                self.assertEqual((told["wide"], told["width"]), ([], width))
                self.assertGreater(told["letters"], 200)
                self.assertGreaterEqual(told["choices"], choices)
                picture = OUT / f"{page.stem}-{width}.png"
                picture.unlink(missing_ok=True)
                height = min(told["height"], 4000)
                browse(f"--screenshot={picture.resolve()}", f"--window-size={width},{height}",
                       page.resolve().as_uri())
                self.assertGreater(picture.stat().st_size, LEAST_PICTURE)

    def test_first_light(self):
        page = self.page("first-light")
        device = "model,timing=cx5-16.35.4506,behaviour=data-path-ns=1000+dispatch-cache=700"
        call(PROGRAMS["first-light"], "--quick", device, "--html", page, status=(0, 2, 3))
        self.judge(page)

    def test_pfc_deadlock(self):
        ring = ("ring-3", "--set", "d=0.125")
        asked = {
            "fluid": ("fluid", *ring, "--until", "20"),
            "packet": ("packet", *ring, "--until", "100"),
            "cbd": ("cbd", *ring),
            "residence": ("residence", *ring, "--watchdog-ms", "200"),
            "sweep": ("sweep", *ring, "--vary", "theta=0.5:2:4", "--vary", "rate.h=0.1,0.3"),
        }
        for name, words in asked.items():
            page = self.page(f"pfc-{name}")
            call(PROGRAMS["pfc-deadlock"], *words, "--report", page, status=(0, 1, 3))
            self.judge(page)

    def test_leasectl(self):
        page = self.page("leasectl")
        with tempfile.TemporaryDirectory() as home:
            socket = pathlib.Path(home) / "s"
            log = pathlib.Path(home) / "log"
            with open(log, "w", encoding="utf-8") as messages, subprocess.Popen(
                    [PROGRAMS["leased"], "--socket", socket, "--journal",
                     pathlib.Path(home) / "journal"], stdout=messages, stderr=messages) as server:
                try:
                    while "serves " not in log.read_text(encoding="utf-8"):
                        self.assertIsNone(server.poll())
                        time.sleep(0.1)
                    call(PROGRAMS["leasectl"], "--socket", socket, "report", page)
                finally:
                    server.send_signal(signal.SIGTERM)
        self.judge(page)

    def test_bench(self):
        results = OUT / "results"
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir(parents=True)
        device = "model,timing=cx5-16.35.4506,execution=stepped"
        call(PROGRAMS["floor_bench"], "--", f"--device={device}",
             f"--out-dir={results}", "--quick")
        said = call(PROGRAMS["bench_summary"], "--where=a run",
                    f"floor_bench:0:{results / 'floor_bench.json'}", status=(0, 3))
        (results / "conclusion.txt").write_text(said, encoding="utf-8")
        call(sys.executable, "-B", SOURCE / "bench/run/report.py", results, "--conclusion",
             results / "conclusion.txt")
        page = self.page("bench")
        shutil.copy(results / "report.html", page)
        self.judge(page, choices=1)

    def test_page_that_fails_is_found(self):
        """What judges the others sees a script that throws, a picture from elsewhere, a table that
        is too wide, and a choice that draws nothing."""
        page = self.page("wrong")
        page.write_text("<!doctype html><html><body><p>" + "word " * 99 + "<script>nothing()"
                        "</script><img src='http://192.0.2.1/a.png'><div style='width:2000px'>w"
                        "</div><select><option>a</select><canvas></canvas></html>",
                        encoding="utf-8")
        told = look_at(page, 390)
        page.unlink()
        self.assertRegex(" ".join(told["wrong"]), "nothing is not defined.*not loaded: http")
        self.assertEqual((told["empty"], told["choices"]), (["a"], 1))
        self.assertGreater(told["width"], 390)
        self.assertRegex(told["wide"][0], "^DIV w")


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C.UTF-8"
    unittest.main(argv=[sys.argv[0], *sys.argv[3 + len(PROGRAMS):]])
