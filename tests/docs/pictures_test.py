# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of docs/pfc.md are those that pfc-deadlock draws today: what they say, the units of
their axes among it, and how much is drawn. No label lies on a curve.

    pictures_test.py ROOT_OF_THE_TREE FOLDER_OF_PFC_DEADLOCK

Coordinates are not compared, for the last digit of one is the compiler's.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path()
PROGRAM = pathlib.Path()
TIMEOUT_S = 300

FLUID = {
    "seed-1": "seed-1 --until 12", "seed-2": "seed-2 --until 6", "seed-3": "seed-3 --until 10",
    "seed-4": "seed-4 --set a=0.7 --set B=0.5 --until 10",
    "ring-3": "ring-3 --set d=0.125 --discipline fifo --until 20"}
SWEPT = {
    "two-flows": "seed-1 --vary d=0.125,0.25,0.375,0.5,0.625,0.75,0.875,1 --runs 200 --offsets 4 "
                 "--until 200",
    "third-flow": "ring-3 --set d=0.125 --vary theta=0.5:2:7 --runs 40 --until 50 "
                  "--vary rate.h=0.05,0.1,0.2,0.3,0.4,0.6,0.8,1"}
LETTER = 0.55  # width of one, in sizes of its font


def kept(name: str) -> str:
    return (ROOT / "docs/pfc" / (name + ".svg")).read_text(encoding="utf-8")


def words(picture: str) -> list:
    return re.findall(r"<text[^>]*>([^<]*)", picture)


def drawn(picture: str) -> dict:
    return {kind: picture.count("<" + kind) for kind in ("path", "rect", "line", "circle", "text")}


def boxes(picture: str) -> list:
    """Left, top, right, bottom of each label; those that stand upright are beside the curves."""
    found = []
    for x, y, rest, text in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"([^>]*)>([^<]*)', picture):
        size = int((re.findall(r'font-size="(\d+)"', rest) or ["13"])[0])
        width = len(text) * size * LETTER
        left = float(x) - {"middle": width / 2, "end": width}.get(
            "".join(re.findall(r'text-anchor="(\w+)"', rest)), 0)
        found.append((left, float(y) - 0.7 * size, left + width, float(y), text))
    return found


def curve_points(picture: str) -> list:
    """Points of every curve, no further apart than letters are wide."""
    found = []
    for path in re.findall(r'<path d="M([\d. L]+)" ', picture):
        corners = [tuple(map(float, corner.split())) for corner in path.split("L")]
        for (ax, ay), (bx, by) in zip(corners, corners[1:]):
            parts = 1 + int((abs(bx - ax) + abs(by - ay)) / 4)
            found += [(ax + (bx - ax) * i / parts, ay + (by - ay) * i / parts)
                      for i in range(parts + 1)]
    return found


def labels_on_curves(picture: str) -> set:
    points = curve_points(picture)
    return {text for left, top, right, bottom, text in boxes(picture)
            if any(left < x < right and top < y < bottom for x, y in points)}


class Pictures(unittest.TestCase):
    def draw(self, command: str, arguments: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "drawn.svg")
            subprocess.run([PROGRAM, command, *arguments.split(), "--svg", file], timeout=TIMEOUT_S,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            return file.read_text(encoding="utf-8")

    def test_curves_say_what_the_program_says_and_in_which_units(self):
        for name, arguments in FLUID.items():
            with self.subTest(name):
                today = self.draw("fluid", arguments)
                self.assertEqual(words(kept(name)), words(today))
                self.assertIn("time, 1 is 8 us", words(kept(name)))
                self.assertIn("data, 1 is 40 KB", words(kept(name)))

    def test_maps_say_what_the_program_says_and_in_which_units(self):
        for name, arguments in SWEPT.items():
            with self.subTest(name):
                today = self.draw("sweep", arguments)
                self.assertEqual((words(kept(name)), drawn(kept(name))),
                                 (words(today), drawn(today)))
                self.assertIn("time, 1 is 8 us; data, 1 is 40 KB", words(kept(name)))

    def test_figures_are_drawn_as_the_program_draws_them(self):
        for number in range(1, 5):
            with self.subTest(number):
                today = subprocess.run([PROGRAM, "topology", f"seed-{number}"], text=True,
                                       capture_output=True, timeout=TIMEOUT_S, check=True).stdout
                self.assertEqual(kept(f"figure-{number}"), today)

    def test_no_label_lies_on_a_curve(self):
        for name in FLUID:
            with self.subTest(name):
                self.assertGreater(len(curve_points(kept(name))), 1000)
                self.assertEqual(labels_on_curves(kept(name)), set())


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv[1])
    PROGRAM = pathlib.Path(sys.argv[2], "pfc-deadlock")
    unittest.main(argv=[sys.argv[0]])
