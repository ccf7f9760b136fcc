"""Sphinx extension: what the site makes from the package before it reads its pages.

Inventories of other projects are kept as text and compressed, every tutorial is also written as a
notebook that can be downloaded, and the gallery has a page for every model of the zoo and every
example.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from site_gallery import write_gallery
from site_reference import write_reference
from sphinx.application import Sphinx

DOCS = Path(__file__).parent
HEADER = "# Sphinx inventory version 2\n# Project: {name}\n# Version:\n# The rest is zlib.\n"


def write_inventories(folder: Path) -> None:
    """Compresses `inventories/*.txt` to the form that intersphinx reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in sorted((DOCS / "inventories").glob("*.txt")):
        header = HEADER.format(name=source.stem).encode()
        body = zlib.compress(source.read_bytes())
        (folder / f"{source.stem}.inv").write_bytes(header + body)


def write_notebooks(app: Sphinx) -> None:
    """Writes each tutorial as `tutorials/notebooks/NAME.ipynb`."""
    import jupytext

    folder = DOCS / "tutorials" / "notebooks"
    folder.mkdir(exist_ok=True)
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        if page.stem != "index":
            notebook = jupytext.read(page, fmt="md:myst")
            jupytext.write(notebook, folder / f"{page.stem}.ipynb")


def make_gallery(app: Sphinx) -> None:
    """Writes the gallery: `gallery/models/NAME.md` and `gallery/examples/NAME.md`."""
    write_gallery(DOCS / "gallery", light=app.config.site_light)


def make_reference(app: Sphinx) -> None:
    """Writes the pages of the reference that are made from the code."""
    write_reference(DOCS / "reference")


def leave_out_navigation(app: Sphinx, page: str, template: str, context: Any, tree: Any) -> None:
    """Leave the tree of all pages out of each page of the light form: a third of its time."""
    if app.config.site_light:
        context.pop("toctree", None)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_config_value("site_light", False, "env", bool)
    app.connect("builder-inited", write_notebooks)
    app.connect("builder-inited", make_gallery)
    app.connect("builder-inited", make_reference)
    app.connect("html-page-context", leave_out_navigation, priority=400)  # before the theme's
    return {"parallel_read_safe": True}
