from __future__ import annotations

from pathlib import Path

import pytest

from recurl.errors import CheckpointError
from recurl.experiment.record import Exact, Record
from recurl.suite.score import (
    area,
    final_score,
    markdown,
    read_records,
    score_rows,
    setting_cells,
    summary_cells,
)
from recurl.suite.tasks import find_setting


def record(values: list[float | None], name: str = "words-small", seed: int = 0, **more) -> Record:
    given = {"method": "rql", "label": "recursive", "config": {}, **more}
    steps = [100 * i for i in range(len(values))]
    return Record(
        experiment=name,
        seed=seed,
        curve={"steps": steps, "value": values},
        exact=Exact(values[-1], None, None, note=given.pop("note", "")) if values else None,
        **given,
    )


def height(name: str, score: float) -> float:
    """The value that has a score."""
    known = find_setting(name).known
    low, high = sum(known.uniform) / 2, sum(known.optimum) / 2
    return low + score * (high - low)


def test_a_score_is_0_for_uniform_and_1_for_the_optimum() -> None:
    name = "office-small"
    assert final_score(record([height(name, 1.0)], name)) == pytest.approx(1)
    assert final_score(record([height(name, 0.25)], name)) == pytest.approx(0.25)
    assert final_score(record([height(name, -3.0)], name)) == 0
    assert final_score(record([None], name)) == 0


def test_the_area_is_the_mean_height_of_the_curve() -> None:
    values = [height("words-small", s) for s in (0.0, 1.0, 1.0)]
    assert area(record(values)) == pytest.approx(0.75)
    assert area(record([])) == 0


def test_a_family_is_the_mean_over_its_tasks_seed_by_seed() -> None:
    scores = {
        ("words-small", 0): 1.0,
        ("words-small", 1): 0.5,
        ("office-small", 0): 0.0,
        ("office-small", 1): 0.5,
    }
    records = [
        record([height(name, 0.0), height(name, s)], name, seed)
        for (name, seed), s in scores.items()
    ]
    rows = {(row.scope, row.name): row for row in score_rows(records)}
    family = rows["family", "several exits"]
    assert family.score.value == pytest.approx(0.5)
    assert (family.seeds, family.settings) == (2, 2)
    assert family.area.value == pytest.approx(0.25)
    assert rows["all", "all"].score == family.score
    assert rows["setting", "words-small"].score.value == pytest.approx(0.75)
    assert (
        rows["setting", "words-small"].score.low < 0.75 < rows["setting", "words-small"].score.high
    )


def test_failed_runs_score_0_and_are_counted() -> None:
    rows = score_rows([record([0.48, 0.48]), record([], seed=1, error="no memory")])
    assert rows[0].failed == 1
    assert rows[0].score.value == pytest.approx(0.5)
    assert "1 failed" in markdown(rows)


def test_sampled_values_are_marked() -> None:
    rows = score_rows([record([0.4, 0.4], note="sampled: 100 episodes")])
    assert not rows[0].exact
    assert "sampled" in markdown(rows)


def test_tables_have_a_cell_for_every_agent() -> None:
    records = [record([0.1, 0.2]), record([0.2, 0.3], "office-small", method="q", label="flat")]
    heads, lines = setting_cells(score_rows(records))
    assert heads[-2:] == ["q", "rql"]
    assert [line[-2:].count("-") for line in lines] == [1, 1]
    heads, lines = summary_cells(score_rows(records))
    assert [line[:2] for line in lines if line[1] == "all"] == [["q", "all"], ["rql", "all"]]
    assert {len(line) for line in lines} == {len(heads)}


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="recurl suite run"):
        read_records(tmp_path)
