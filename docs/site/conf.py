"""The settings of Sphinx. `make docs` builds the Markdown pages of this repository to build/docs."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "crayon-hf"
author = "the developers of crayon-hf"
version = release = version_of("crayon-hf")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "command_help",
    "docstrings",
    "light_and_dark",
    "page_titles",
]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = [
    "docs/*.md",
    "docs/examples/*.md",
    "docs/reference/*.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
]
default_role = "literal"  # docstrings name things in single backquotes

myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "undoc-members": False}

html_theme = "furo"
html_title = f"crayon-hf {release}"
html_show_sphinx = html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_use_index = False  # its table is too wide for a phone, and search replaces it
html_copy_source = False
html_show_sourcelink = False
html_extra_path = ["entry"]
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
