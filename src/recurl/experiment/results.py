"""From records to what people look at: figure, table and report, in one folder."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from recurl.experiment.figure import draw_figure, save_figure
from recurl.experiment.report import report_html
from recurl.experiment.study import Study
from recurl.experiment.table import table_rows
from recurl.experiment.table_text import markdown
from recurl.model.files import write_atomic


def write_results(studies: Sequence[Study], out: str | os.PathLike[str]) -> list[Path]:
    """Write figure (PNG, PDF, SVG), table (Markdown, JSON) and report (HTML) to a folder.

    Returns:
        The files, the report last.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    figure, rows = draw_figure(studies), table_rows(studies)
    texts = {
        "table.md": markdown(rows),
        "table.json": json.dumps([row._asdict() for row in rows], indent=1) + "\n",
        "report.html": report_html(studies),
    }
    for name, text in texts.items():
        write_atomic(folder / name, text)
    return [*save_figure(figure, folder), *(folder / name for name in texts)]
