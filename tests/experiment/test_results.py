from __future__ import annotations

import json
from pathlib import Path

from recurl.experiment.results import write_results
from recurl.experiment.study import Study


def test_files_are_written(study: Study, tmp_path: Path) -> None:
    files = write_results([study], tmp_path / "new")
    assert [path.suffix for path in files] == [".png", ".pdf", ".svg", ".md", ".json", ".html"]
    rows = json.loads((tmp_path / "new" / "table.json").read_text())
    assert [row["method"] for row in rows] == ["rql", "ql", "rql-swift"]
