"""Documents from end to end: what is read, what is written, what is refused and where."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import string
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.model.document.texts import FULL
from tests.strategies import models

import recurl
from recurl.errors import DocumentError, UnknownNameError
from recurl.model import document
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP


def expected() -> RMDP:
    """The model of FULL, by hand."""
    return (
        Builder("tour")
        .features("row", "column")
        .component("T", entries=["u1", "x"], exits="u2").box("b1", "S")
        .at("u1", features=[0, 1.5], label="line 3").action("mono", reward=-8).to("u2")
                                                    .action("divide", reward=-0.5).to("b1")
        .at("x").action("short").to("u2")
        .at("b1.u4").action("next").to("u2")
        .at("b1.u5").action("yes", reward=3).to("u2", "1/2", 1).to("u2", "1/2")
                    .action("no").to("u2")
        .at("u2", features=[0.5, -0.001])
        .at("b1.u3", label="calls")
        .component("S", entries="u3", exits=["u4", "u5"])
        .at("u3").action("reliable", reward=-1.5).to("u5", 0.3).to("u4", 0.7)
                 .action("x").to("u5", "1/3", 2).to("u4", "2/3")
        .build(start={"T.u1": "1/2", "T.x": "1/2"})
    )  # fmt: skip


def problems(text: str, format: document.Format | None = None) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        recurl.loads(text, format)
    return [str(problem) for problem in caught.value.problems]


def as_json(text: str) -> str:
    """A YAML document as JSON, every scalar as text."""
    return json.dumps(yaml.load(text, yaml.BaseLoader), indent=1)  # noqa: S506


def test_a_document_is_the_model_that_it_describes() -> None:
    model = recurl.loads(FULL)
    assert model == expected()
    assert recurl.loads(as_json(FULL)) == model
    assert model.exact.prob(int(model.tables.n_transitions) - 2) == Fraction(1, 3)


def test_a_start_that_is_not_given_is_the_first_entry_of_the_first_component() -> None:
    model = recurl.loads(FULL.replace("start: {T.u1: 1/2, T.x: 0.5}\n", ""))
    assert model.start_exact() == {model.find("T.u1"): 1}
    model = recurl.loads(FULL.replace("{T.u1: 1/2, T.x: 0.5}", "T.x"))
    assert model.start_exact() == {model.find("T.x"): 1}


@given(models())
def test_what_is_written_is_read_as_an_equal_model(model: RMDP) -> None:
    text = recurl.dumps(model)
    assert recurl.loads(text) == model
    assert recurl.dumps(recurl.loads(text)) == text
    assert recurl.loads(recurl.dumps(model, "json")) == model


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4))
def test_floats_survive(rewards: list[float]) -> None:
    builder = Builder().features("f").component("A", entries="in", exits="out")
    for i, reward in enumerate(rewards):
        builder.at("in", features=[reward]).action(f"a{i}", reward=reward).to("out")
    model = builder.build()
    again = recurl.loads(recurl.dumps(model))
    assert again.tables.reward.tolist() == rewards
    assert again == model


@pytest.mark.parametrize("name", ["m.yaml", "m.yml", "m.json", "m.JSON", "m.model"])
def test_files(name: str, tmp_path: Path) -> None:
    model = recurl.loads(FULL)
    recurl.dump(model, tmp_path / name)
    assert recurl.load(tmp_path / name) == model
    assert recurl.load(str(tmp_path / name)) == model
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text.startswith("{" if "json" in name.lower() else "recurl: 1")
    assert os.listdir(tmp_path) == [name]


def test_json_is_known_by_its_brace_unless_it_is_yaml() -> None:
    assert recurl.loads(as_json(FULL)) == recurl.loads(as_json(FULL), "json")
    tree = yaml.load(FULL, yaml.BaseLoader)  # noqa: S506
    flow = yaml.dump(tree, default_flow_style=True, sort_keys=False)
    assert flow.startswith("{")
    with pytest.raises(DocumentError, match="not valid JSON"):
        recurl.loads(flow, "json")
    assert recurl.loads(flow) == expected()


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'yaml'"):
        recurl.loads(FULL, "yml")
    with pytest.raises(UnknownNameError, match="Unknown format 'toml'"):
        recurl.dumps(expected(), "toml")


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_bytes(b"\xef\xbb\xbf" + FULL.encode())
    assert recurl.load(tmp_path / "m.yaml") == expected()


# What is wrong, and where


def test_all_problems_of_a_document_have_their_lines() -> None:
    changes = {
        "exits: u2": "exit: u2",
        "reward: -8": "rewrd: -8",
        "b1: S": "b1: X",
        "u5: 0.3": "u5: 0.4",
        "{p: 1/3, reward: 2}": "[1]",
        "{target: u2, p: 1/2}": "{p: 1/2}",
        "name: tour": "name: tour\nname: other",
        "features: {u1: [0, 1.5]": "features: {u1: [0, much]",
    }
    text = FULL
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    number = "write a decimal, an integer or a fraction such as 1/3"
    after = [
        "line 10: component T, exit: unknown key (did you mean 'exits'?)",
        "line 11: component T, box b1: calls the unknown component 'X' (known components: T, S)",
        "line 14: component T, vertex u1, action mono, rewrd: unknown key (did you mean 'reward'?)",
        "line 21: component T, vertex b1.u5, action yes, target 1: has no target "
        "(write {target: NODE, p: 1/2})",
        "line 23: component T, vertex u1, 1: 'much' is not a finite decimal, integer or fraction "
        "such as 1/3 (give a finite number)",
        "line 30: component S, vertex u3, action reliable: probabilities sum to 1.1 "
        "(make them sum to 1)",
        f"line 31: component S, vertex u3, action x, target u5: is a list, not a number ({number})",
    ]
    found = problems(text)
    assert found[0] == "line 4: name: the key comes twice (keep one of them)"
    assert found[1:] == after
    without_lines = [line.partition(": ")[2] for line in problems(as_json(text))]
    assert without_lines == [line.partition(": ")[2] for line in after]


def test_lines_of_json() -> None:
    text = as_json(FULL.replace("-8", "eight"))
    (problem,) = problems(text)
    line = int(problem.split()[1].rstrip(":"))
    assert '"reward": "eight"' in text.splitlines()[line - 1]
    assert "vertex u1, action mono, reward: 'eight' is not a finite decimal" in problem


def test_an_error_carries_file_line_and_path() -> None:
    with pytest.raises(DocumentError) as caught:
        recurl.loads(FULL.replace("to: b1", "to: b7"), file="tour.yaml")
    (problem,) = caught.value.problems
    assert caught.value.file == "tour.yaml"
    assert str(caught.value).startswith("tour.yaml: 1 problem:\n  line 14: component T, vertex u1")
    assert problem.line == 14
    assert problem.path == ("components", "T", "vertices", "u1", "divide", "to", "b7")


MEANT = "(write out what is meant)"
BEGIN = "(begin with `recurl: 1`)"


def deep(opening: str, depth: int) -> str:
    return opening * depth


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: is empty (begin with `recurl: 1`)"),
        ("# nothing\n", "line 1: is empty (begin with `recurl: 1`)"),
        ("text", "line 1: is not a mapping of keys to values (begin with `recurl: 1`)"),
        ("[1]", "line 1: is not a mapping of keys to values (begin with `recurl: 1`)"),
        ("a: b", "line 1: is not a recurl document: the key `recurl` is missing " + BEGIN),
        ("recurl: 2", "line 1: recurl: format '2' is not known (this version reads `recurl: 1`)"),
        ("recurl: 1", "line 1: components: there is no component (add one)"),
        ("recurl: 1\ncomponents: {}", "line 2: components: there is no component (add one)"),
        ("a: &x [b]\nc: *x", "line 1: anchors (&) and aliases (*) are refused " + MEANT),
        ("a: 1\nc: *x", "line 2: anchors (&) and aliases (*) are refused " + MEANT),
        ("a: 1\n<<: {b: c}", "line 2: merge keys (<<) are refused (write out what is meant)"),
        ("a: !!python/name:os.system", "line 1: tags (!) are refused (remove it)"),
        ("!tag {a: b}", "line 1: tags (!) are refused (remove it)"),
        ("a: 1\n---\nb: 1", "line 2: a second document begins (keep one to a file)"),
        ("? [a]\n: b", "line 1: a key is not text (use names as keys)"),
        ("a: {b: [", "line 2: is not valid YAML: did not find expected node content"),
        ("a:\n\t- b", "line 2: is not valid YAML: found character that cannot start any token"),
        ("a: 'b", "line 1: is not valid YAML: found unexpected end of stream"),
        ("a: \x00", "line 1: is a binary file, not a text (give a YAML or JSON file)"),
        ("a: 1\nb: \x01", "line 2: has a character that no text file has"),
        ("a: 1\nb: \ud800", "line 2: has half a surrogate pair (write the character)"),
        (deep("[", 100_000), "line 1: is not a mapping of keys to values (begin with `recurl: 1`)"),
        (deep("a: [\n", 50), "line 7: is nested more than 12 levels deep (flatten it)"),
        (deep("{a: ", 100_000), "line 1: is nested more than 12 levels deep (flatten it)"),
        (deep('{"a":', 100_000), "line 1: is nested more than 12 levels deep (flatten it)"),
    ],
)  # fmt: skip
def test_what_is_no_document_has_one_clear_error(text: str, problem: str) -> None:
    assert problems(text) == [problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: is not valid JSON: Input data was truncated"),
        ('{"recurl": 1,\n"a": [', "line 2: is not valid JSON: Input data was truncated"),
        ('{"recurl": 1,\n"ä": 1,\n x}', "line 3: is not valid JSON: JSON is malformed"),
        ("[1]", "line 1: is not a mapping of keys to values (begin with `recurl: 1`)"),
        ('{"recurl": NaN}', "line 1: is not valid JSON: JSON is malformed: invalid character"),
        (deep('{"a":', 100_000), "is nested more than 12 levels deep (flatten it)"),
        (deep("[", 100_000), "is nested more than 12 levels deep (flatten it)"),
        ('{"recurl": 1, "components": {"A": null}}', "line 1: component A: is null, not a mapping"),
        ('{"recurl": 1, "components": true}', "line 1: components: is true, not a mapping"),
    ],
)
def test_what_is_no_json_document_has_one_clear_error(text: str, problem: str) -> None:
    (found,) = problems(text, "json")
    assert found.startswith(problem)


@cache
def nonsense(lines: int) -> dict[str, str]:
    source = random.Random(1)
    words = ["".join(source.choices(string.printable, k=8)) for _ in range(1000)]
    counted = range(1, min(lines, 100_000))
    return {
        "words": "\n".join(source.choices(words, k=lines)),
        "one key": "a: b\n" * lines,
        "keys": "\n".join(f"k{i}: v" for i in range(lines)),
        "items": "- a\n" * lines,
        "plain": "x\n" * lines,
        "comments": "#\n" * lines,
        "brackets": "[\n" * lines,
        "laughs": "a0: [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1},*a{i - 1}]\n" for i in counted),
        "vertices": "recurl: 1\ncomponents: {A: {vertices: {"
        + "".join(f"v{i}: {{}},\n" for i in counted)
        + "}}}",
    }  # fmt: skip


@pytest.mark.parametrize("kind", nonsense(1))
def test_a_long_nonsense_file_has_one_error(kind: str) -> None:
    with pytest.raises(DocumentError) as caught:
        recurl.loads(nonsense(1_000_000)[kind])
    assert len(str(caught.value)) < 5000
    assert len(caught.value.problems) <= 1001


@pytest.mark.parametrize(
    "text",
    [
        "recurl: 1\ncomponents: {A: " + "x" * 10**6 + "}",
        "recurl: 1\nname: " + "x" * 10**6,
        "recurl: 1\n" + "x" * 10**6 + ": 1",
        'recurl: 1\n"' + "x" * 500 + '": 1',
        "recurl: " + "1" * 10**6,
        FULL.replace("-8", "9" * 10**6),
        FULL.replace("b1: S", "b1: " + "S" * 10**6),
        as_json(FULL).replace('"-8"', "9" * 10**4),
        as_json(FULL).replace('"-8"', "0." + "9" * 10**6),
    ],
)
def test_huge_scalars_have_short_errors(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        recurl.loads(text)
    assert len(str(caught.value)) < 5000


def test_a_truncated_document_is_refused_or_whole() -> None:
    model = expected()
    for format in ("yaml", "json"):
        text = recurl.dumps(model, format)
        for end in range(0, len(text), 7):
            with contextlib.suppress(DocumentError):
                assert recurl.loads(text[:end], format).name == "tour"


@given(st.binary(max_size=40))
def test_random_bytes_are_refused_without_another_error(data: bytes) -> None:
    for format in ("yaml", "json", None):
        with pytest.raises(DocumentError):
            recurl.loads(data.decode("utf-8", "surrogateescape"), format)


@given(st.data())
def test_damage_to_a_document_is_a_document_error_or_no_damage(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(FULL)))
    cut = data.draw(st.integers(0, 12))
    put = data.draw(st.text("{}[]:,#&*!|>'\"%@`- \n\tab1.", max_size=4))
    with contextlib.suppress(DocumentError):
        assert recurl.loads(FULL[:at] + put + FULL[at + cut :]).tables.n_components > 0


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"recurl: 1\nname: \xff\xfe")
    empty = tmp_path / "empty.json"
    empty.write_bytes(b"")
    binary_error = "line 2: is not text in UTF-8 (save it as UTF-8)"
    for path, problem in [
        (tmp_path / "none.yaml", "cannot be read: no such file or directory (check the path)"),
        (tmp_path, "is not a regular file (give the path of a file)"),
        (empty, "line 1: is not valid JSON: Input data was truncated"),
    ]:
        with pytest.raises(DocumentError) as caught:
            recurl.load(path)
        assert caught.value.file == str(path)
        assert [str(p) for p in caught.value.problems] == [problem]
    with pytest.raises(DocumentError) as caught:
        recurl.load(binary)
    assert [str(p) for p in caught.value.problems] == [binary_error]


def test_garbage_collection_is_left_as_it_was() -> None:
    assert gc.isenabled()
    recurl.loads(FULL)
    assert gc.isenabled()
    with pytest.raises(DocumentError):
        recurl.loads("recurl: 1")
    assert gc.isenabled()


def test_sums_that_are_nearly_one_are_a_warning() -> None:
    model = recurl.loads(FULL.replace("u5: 0.3", "u5: 0.3000000001"))
    notes = [str(warning) for warning in model.warnings if "probabilities" in str(warning)]
    assert notes == [
        "component S, vertex u3, action reliable: probabilities miss 1 by 1e-10 "
        "(the last was taken to be 0.6999999999; fractions such as 1/3 are exact)"
    ]
    again = recurl.loads(recurl.dumps(model))
    assert again == model
    assert not [w for w in again.warnings if "probabilities" in str(w)]


def test_models_from_arrays_keep_their_bits() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(50)
    prob = np.stack([p, 1 - p], axis=1).ravel()
    model = RMDP.from_arrays(
        recurl.Layout.of([1], [1], [49]),
        action_start=[0, 1, *range(1, 51)],
        transition_start=np.arange(0, 101, 2),
        target=rng.integers(1, 51, 100),
        prob=prob,
        reward=rng.normal(size=100),
    )
    for format in ("yaml", "json"):
        again = recurl.loads(recurl.dumps(model, format))
        assert again == model
        assert again.exact.binary
        np.testing.assert_array_equal(again.tables.prob, prob)
