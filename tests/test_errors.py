from __future__ import annotations

import pytest

from recurl import errors
from recurl.errors import DocumentError, MissingExtraError, ModelError, Problem, UnknownNameError


def test_a_problem_says_where_what_and_how_to_fix_it() -> None:
    problem = Problem("component S, vertex u3", "has no action", "add one", ("components",), 7)
    assert str(problem) == "line 7: component S, vertex u3: has no action (add one)"
    assert str(Problem("", "is empty")) == "is empty"


def test_a_model_error_lists_twenty_problems_and_keeps_all() -> None:
    problems = [Problem(f"vertex {i}", "has no action") for i in range(25)]
    error = ModelError(problems, headline="model m: ")
    lines = str(error).splitlines()
    assert lines[0] == "model m: 25 problems:"
    assert lines[1] == "  vertex 0: has no action"
    assert lines[-1] == "  ... and 5 more"
    assert len(lines) == 22
    assert error.problems == tuple(problems)


def test_a_document_error_names_the_file() -> None:
    error = DocumentError([Problem("start", "is wrong", line=3)], "a.yaml")
    assert str(error) == "a.yaml: 1 problem:\n  line 3: start: is wrong"
    assert error.file == "a.yaml"


def test_an_unknown_name_comes_with_close_ones_and_some_known_ones() -> None:
    error = UnknownNameError("model", "clowd", ["gambler", "cloud"])
    assert str(error) == "Unknown model 'clowd'. Did you mean 'cloud'? Known: cloud, gambler."
    assert str(UnknownNameError("model", "x", ["cloud"])) == "Unknown model 'x'. Known: cloud."
    assert str(UnknownNameError("v", "x", (f"n{i:03}" for i in range(50)))).endswith("n039, ....")


def test_a_missing_extra_names_the_command() -> None:
    assert "pip install 'recurl[deep]'" in str(MissingExtraError("Deep learning", "deep"))


@pytest.mark.parametrize(
    ("error", "parents"),
    [
        (errors.DocumentError, (errors.ModelError,)),
        (errors.UnknownNameError, (errors.RecurlError, LookupError)),
        (errors.MissingExtraError, (errors.RecurlError, ImportError)),
        (errors.NotProperError, (errors.RecurlError,)),
        (errors.LimitError, (errors.RecurlError,)),
        (errors.QuestionError, (errors.RecurlError, ValueError)),
        (errors.BusyError, (errors.RecurlError,)),
        (errors.CheckpointError, (errors.RecurlError,)),
        (errors.CertificateError, (errors.RecurlError,)),
    ],
)
def test_the_tree_of_errors(error: type[Exception], parents: tuple[type[Exception], ...]) -> None:
    assert all(issubclass(error, parent) for parent in (*parents, errors.RecurlError))
