from __future__ import annotations

import pytest

from recurl.errors import ModelError
from recurl.model.report import Report, place_of, shown


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), ""),
        (("start", "T.u9"), "start, T.u9"),
        (("components",), "components"),
        (("components", "S"), "component S"),
        (("components", "S", "exits"), "component S, exits"),
        (("components", "S", "boxes", "b1"), "component S, box b1"),
        (("components", "S", "vertices", "u3"), "component S, vertex u3"),
        (("components", "S", "vertices", "u3", "go"), "component S, vertex u3, action go"),
        (
            ("components", "S", "vertices", "u3", "go", "reward"),
            "component S, vertex u3, action go, reward",
        ),
        (
            ("components", "S", "vertices", "b1.u4", "go", "to", "u9", "p"),
            "component S, vertex b1.u4, action go, target u9, p",
        ),
        (("components", "S", "features", "u3", 1), "component S, vertex u3, 1"),
        (("components", "a\nb"), "component 'a\\nb'"),
    ],
)
def test_a_path_in_words(path: tuple[str | int, ...], place: str) -> None:
    assert place_of(path) == place


def test_long_names_are_cut() -> None:
    assert shown("x" * 100) == repr("x" * 60 + "...")
    assert len(place_of(("components", "x" * 10_000))) < 100


def test_nothing_is_raised_without_problems() -> None:
    report = Report()
    report.raise_any()
    assert not report.problems


def test_problems_end_at_a_thousand() -> None:
    report = Report("model m: ")
    for i in range(999):
        report.add(("start", str(i)), "is wrong")
    with pytest.raises(ModelError, match="model m: 1001 problems") as caught:
        report.add(("start",), "is wrong")
    assert len(caught.value.problems) == 1001
    assert caught.value.problems[-1].message == "more problems were not looked for after 1000"


def test_close_names_are_offered_until_it_would_take_long() -> None:
    report = Report()
    many = [f"n{i}" for i in range(150_000)]
    assert report.hint("clod", ["cloud", "rain"], "add it") == "did you mean 'cloud'?"
    assert report.hint("xyz", ["cloud", "rain"], "add it") == "add it"
    assert report.hint("m77777", many, "add it") == "did you mean 'n77777'?"
    assert report.hint("m77777", many, "add it") == "add it"


def test_what_follows_from_an_earlier_stage_is_not_reported() -> None:
    report = Report()
    action = ("components", "S", "vertices", "u3", "go")
    report.add((*action, "to", 0), "has no target")
    report.end_stage()
    report.add(action, "probabilities sum to 0.5")
    report.add((*action, "to", 0, "p"), "is wrong")
    assert len(report.problems) == 1
    report.add(("components", "S", "vertices", "u4"), "has no action")
    report.add(("components", "S"), "is not a name")
    assert len(report.problems) == 3
