"""Sphinx configuration of the site; `make docs` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from site_gallery import write_static
from site_pages import write_inventories

import recurl

project = "recurl"
author = "The recurl developers"
copyright = "2026, the recurl developers"
version = release = recurl.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "site_pages",
]
exclude_patterns = ["_build", "inventories", "tutorials/notebooks"]
templates_path: list[str] = []

# Markdown
source_suffix = {".md": "myst-nb"}
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_in_temp = True  # tutorials write files
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_merge_streams = True
# The table of the experiments has no heading of its own.
suppress_warnings = ["mystnb.unknown_mime_type", "toc.no_title"]

# Docstrings: Google style, single backticks are code and link where they name something public.
default_role = "py:obj"
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autoclass_content = "class"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True

# The few names of other projects that signatures show are kept here: a build needs no network.
write_inventories(Path(__file__).parent / "_build" / "inventories")
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", "_build/inventories/python.inv"),
    "numpy": ("https://numpy.org/doc/stable", "_build/inventories/numpy.inv"),
    "gymnasium": ("https://gymnasium.farama.org", "_build/inventories/gymnasium.inv"),
}

# `make linkcheck`: the project's own addresses exist once it is published.
linkcheck_ignore = [r"https://github\.com/recurl/recurl", r"https://recurl\.readthedocs\.io"]
linkcheck_timeout, linkcheck_retries = 20, 2

html_theme = "furo"
html_title = "recurl"
# The script and the style of the replay come from the package.
write_static(Path(__file__).parent / "_build" / "static")
html_static_path = ["_static", "_build/static"]
html_css_files = ["recurl.css"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
