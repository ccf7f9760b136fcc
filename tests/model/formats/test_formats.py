from __future__ import annotations

from pathlib import Path

import pytest
from tests.model.formats.flat_models import content

import recurl
from recurl.errors import RecurlError, UnknownNameError
from recurl.model.formats import dump, format_for, formats, suffixes
from recurl.model.formats.format import Options


def test_every_format_has_its_own_name_and_suffixes() -> None:
    names = [format.name for format in formats()]
    assert names == sorted(set(names))
    assert {"document", "umb", "drn", "prism", "jani", "prism-explicit", "bdp"} <= set(names)
    assert len(set(suffixes())) == len(suffixes())
    assert all(format.read or format.write for format in formats())


def test_the_suffix_says_the_format() -> None:
    assert format_for("a/b.UMB").name == "umb"
    with pytest.raises(UnknownNameError, match=r"suffix of a model file '.xyz'"):
        format_for("a.xyz")


def test_one_door_reads_documents_and_others_alike(tmp_path: Path) -> None:
    model = recurl.flatten(recurl.zoo.succinct(3))
    for name in ("a.yaml", "b.json", "c.umb"):
        recurl.dump(model, tmp_path / name)
        assert content(recurl.load(tmp_path / name)) == content(model)


def test_one_door_reads_boolean_programs(tmp_path: Path) -> None:
    (tmp_path / "coin.bp").write_text("var x; void main() { x = flip(0.3); assert(!x); }")
    model = recurl.load(tmp_path / "coin.bp")
    assert model.name == "coin"
    assert recurl.solve(model).value == pytest.approx(-0.3)


def test_options_without_meaning_are_refused(tmp_path: Path) -> None:
    recurl.dump(recurl.zoo.succinct(2), tmp_path / "a.yaml")
    with pytest.raises(RecurlError, match="goal has no meaning for a file of this kind"):
        recurl.load(tmp_path / "a.yaml", goal="x")
    dump(recurl.zoo.succinct(2), tmp_path / "a.umb")
    with pytest.raises(RecurlError, match="constants has no meaning here; known: goal, rewards"):
        recurl.load(tmp_path / "a.umb", constants="N=3")


def test_formats_that_go_one_way_say_so(tmp_path: Path) -> None:
    with pytest.raises(RecurlError, match="can be written, not read"):
        recurl.load(tmp_path / "a.tra")
    with pytest.raises(RecurlError, match="can be read, not written"):
        dump(recurl.zoo.cloud(), tmp_path / "a.jani")


def test_constants_are_read_as_mapping_and_as_text() -> None:
    assert Options.of(constants={"N": 3}).constants == (("N", "3"),)
    assert Options.of(constants=" N = 3 , p=1/2").constants == (("N", "3"), ("p", "1/2"))
    with pytest.raises(ValueError, match="written NAME=VALUE"):
        Options.of(constants="N")
