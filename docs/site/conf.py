# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx makes the site of the pages that docs/site/build.py has laid out."""

import os

project = "Portcullis"
release = os.environ.get("PORTCULLIS_VERSION", "")
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
highlight_language = "text"
myst_heading_anchors = 4  # so [page](page.md#what-is-promised) is checked

# A warning fails the build. This is none: JSON, TOML or a terminal may be shown with ".." for what
# is left out.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"Portcullis {release}".strip()
html_static_path = ["static"]
html_css_files = ["portcullis.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
