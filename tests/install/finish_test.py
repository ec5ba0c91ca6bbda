# SPDX-License-Identifier: BSD-3-Clause
"""finish_test.py FINISH: packages of packaging/finish.py."""

import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FINISH = sys.argv[1]
EPOCH = 1_700_000_000
CONTROL = """\
Package: thing
Version: 1
Architecture: all
Maintainer: Somebody <somebody@localhost>
Installed-Size: 99
Description: a thing
"""
FILES = {"usr/bin/thing": "#!/bin/sh\n", "usr/lib/libthing.so.1.2": "mapped",
         "usr/share/doc/thing/changelog": "new\n" * 1000, "usr/share/man/man1/thing.1": "page\n",
         "etc/thing.toml": "a = 1\n"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, timeout=300).stdout


class Finish(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, name, mask, when, order):
        """As CPack leaves one: checksums in any order, times of now, modes of the umask."""
        tree = self.folder / name
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(CONTROL, encoding="utf-8")
        (tree / "DEBIAN/md5sums").write_text("\n".join(order) + "\n", encoding="utf-8")
        script = "#!/bin/sh\n\nset -e\n\nif [ \"$1\" = \"configure\" ]; then\n\tldconfig\nfi\n"
        (tree / "DEBIAN/postinst").write_text(script, encoding="utf-8")
        (tree / "DEBIAN/postrm").write_text(script + "true\n", encoding="utf-8")
        for path in ("postinst", "postrm"):
            (tree / "DEBIAN" / path).chmod(0o755)
        for path in order:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(FILES[path], encoding="utf-8")
            (tree / path).chmod((0o755 if "bin/" in path or "lib/" in path else 0o644) & ~mask)
        (tree / "usr/lib/libthing.so.1").symlink_to("libthing.so.1.2")
        for path in tree.rglob("*"):
            os.utime(path, (when, when), follow_symlinks=False)
        deb = self.folder / f"{name}.deb"
        run("dpkg-deb", "-Zgzip", "--build", str(tree), str(deb))
        run(sys.executable, "-B", FINISH, str(EPOCH), str(deb))
        return deb

    def unpacked(self):
        deb = self.make("thing", 0o022, EPOCH + 5, sorted(FILES))
        tree = self.folder / "unpacked"
        run("dpkg-deb", "--raw-extract", str(deb), str(tree))
        return tree

    def test_times_modes_and_order_of_files_change_nothing(self):
        first = self.make("first", 0o022, EPOCH - 1000, sorted(FILES))
        second = self.make("second", 0o077, EPOCH + 1000, sorted(FILES, reverse=True))
        self.assertTrue(first.read_bytes() == second.read_bytes())

    def test_other_contents_are_another_package(self):
        first = self.make("first", 0o022, EPOCH, sorted(FILES))
        second = self.make("second", 0o022, EPOCH, sorted(FILES)[1:])
        self.assertFalse(first.read_bytes() == second.read_bytes())

    def test_pages_and_changelogs_are_compressed_without_a_time(self):
        share = self.unpacked() / "usr/share"
        packed = (share / "doc/thing/changelog.gz").read_bytes()
        self.assertEqual(gzip.decompress(packed).decode(), "new\n" * 1000)
        self.assertEqual(packed[4:8], bytes(4))
        self.assertFalse((share / "man/man1/thing.1").exists())

    def test_checksums_are_those_of_the_files(self):
        tree = self.unpacked()
        run("sh", "-c", f"cd {tree} && md5sum --check --strict DEBIAN/md5sums")
        self.assertEqual((tree / "DEBIAN/md5sums").read_text().count("\n"), len(FILES))

    def test_library_is_not_executable_and_program_is(self):
        tree = self.unpacked()
        self.assertEqual((tree / "usr/lib/libthing.so.1.2").stat().st_mode & 0o777, 0o644)
        self.assertEqual((tree / "usr/bin/thing").stat().st_mode & 0o777, 0o755)

    def test_ldconfig_is_a_trigger_and_other_scripts_stay(self):
        tree = self.unpacked()
        self.assertEqual((tree / "DEBIAN/triggers").read_text(), "activate-noawait ldconfig\n")
        self.assertFalse((tree / "DEBIAN/postinst").exists())
        self.assertTrue((tree / "DEBIAN/postrm").exists())

    def test_size_is_what_is_there(self):
        size = [line for line in (self.unpacked() / "DEBIAN/control").read_text().splitlines()
                if line.startswith("Installed-Size: ")]
        folders = ["usr", "usr/bin", "usr/lib", "usr/share", "usr/share/doc", "etc",
                   "usr/share/doc/thing", "usr/share/man", "usr/share/man/man1"]
        self.assertEqual(size, [f"Installed-Size: {len(FILES) + len(folders) + 1}"])  # and a link


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
