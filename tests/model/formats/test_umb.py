from __future__ import annotations

import io
import json
import lzma
import tarfile
import tempfile
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.model.formats.flat_models import content, flat_models, single_start

import recurl
from recurl.errors import DocumentError, ModelError
from recurl.model.formats import dump
from recurl.model.formats.tar import pack, unpack
from recurl.model.rmdp import RMDP


def written(model: RMDP, folder: Path) -> Path:
    dump(model, folder / "model.umb")
    return folder / "model.umb"


def changed(path: Path, **changes: Any) -> Path:
    """The file with another transition system in its index."""
    files = {name: bytes(data) for name, data in unpack(path.read_bytes()).items()}
    index = json.loads(files["index.json"])
    index["transition-system"] |= {key.replace("n_", "#"): value for key, value in changes.items()}
    files["index.json"] = json.dumps(index).encode()
    path.write_bytes(pack(files))
    return path


def without(path: Path, name: str, instead: bytes | None = None) -> Path:
    files = {key: bytes(data) for key, data in unpack(path.read_bytes()).items()}
    files.pop(name)
    path.write_bytes(pack(files if instead is None else {**files, name: instead}))
    return path


@given(flat_models().filter(single_start))
def test_a_flat_model_reads_back_equal(model: RMDP) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert content(recurl.load(written(model, Path(folder)))) == content(model)


def test_numbers_stay_exact_however_long_they_are(tmp_path: Path) -> None:
    p = Fraction(1, 3**200)
    builder = recurl.Builder("long").component("A", entries="in", exits=["left", "right"])
    builder.at("in").action("go", reward="1/7").to("left", p).to("right", 1 - p)
    again = recurl.load(written(builder.build(), tmp_path))
    assert again.exact.prob(0) == p
    assert again.exact.reward(1) == Fraction(1, 7)


def test_a_hierarchical_model_is_written_flat(tmp_path: Path) -> None:
    model = recurl.zoo.succinct(4)
    assert content(recurl.load(written(model, tmp_path))) == content(recurl.flatten(model))


def test_a_recursive_model_needs_a_depth(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can reach a call of itself"):
        dump(recurl.zoo.gambler(), tmp_path / "a.umb")
    dump(recurl.zoo.gambler(), tmp_path / "a.umb", depth=2)
    unravelled = recurl.unravel(recurl.zoo.gambler(), 2)
    assert content(recurl.load(tmp_path / "a.umb")) == content(unravelled)


def test_several_starts_become_an_initial_state_that_pays_nothing(tmp_path: Path) -> None:
    builder = recurl.Builder("two").component("A", entries=["a", "b"], exits="out")
    builder.at("a").action("go", reward=4).to("out")
    builder.at("b").action("go", reward=8).to("out")
    model = builder.build({"A.a": "1/4", "A.b": "3/4"})
    assert recurl.solve(recurl.load(written(model, tmp_path))).value == pytest.approx(7)


def test_a_goal_label_is_the_exit_and_several_are_several(tmp_path: Path) -> None:
    builder = recurl.Builder("walk").component("A", entries="in", exits=["won", "lost"])
    builder.at("in").action("go", reward=1).to("won", "1/4").to("lost", "1/2").to("on", "1/4")
    builder.at("on").action("go", reward=2).to("won")
    path = written(builder.build(), tmp_path)
    assert recurl.load(path, goal=["won", "lost"]).tables.n_exits.tolist() == [2]
    won = recurl.load(path, goal="won")
    assert won.tables.n_exits.tolist() == [1]
    assert recurl.solve(won, of="exit:won").value == pytest.approx(0.5)
    with pytest.raises(DocumentError, match=r"unknown label 'draw' \(labels: won, lost"):
        recurl.load(path, goal="draw")


def test_a_property_says_goal_and_rewards(tmp_path: Path) -> None:
    builder = recurl.Builder("walk").component("A", entries="in", exits=["won", "lost"])
    builder.at("in").action("go", reward=1).to("won", "1/4").to("on", "3/4")
    builder.at("on").action("go", reward=2).to("won", "1/2").to("lost", "1/2")
    path = written(builder.build(), tmp_path)
    model = recurl.load(path, property='P=? [ F "won" & !"lost" ]')
    assert recurl.solve(model, of="exit:goal").value == pytest.approx(5 / 8)
    ends = recurl.load(path, property='Rmax{"reward"}=? [ F "won" | "lost" ]')
    assert recurl.solve(ends).value == pytest.approx(5 / 2)


def other_tool(**annotations: Any) -> dict[str, bytes]:
    """A file as another tool may write it: defaults left out, rewards of states."""
    index = {
        "format-version": 1,
        "format-revision": 0,
        "transition-system": {
            "time": "discrete",
            "#players": 0,
            "#states": 3,
            "#initial-states": 1,
            "#choices": 3,
            "#choice-actions": 0,
            "#branches": 4,
            "#branch-actions": 0,
            "#observations": 0,
            "branch-probability-type": {"type": "double"},
        },
        "annotations": {
            "aps": {"goal": {"applies-to": ["states"], "type": {"type": "bool"}}},
            "rewards": {"cost": {"applies-to": ["states"], "type": {"type": "double"}}},
            **annotations,
        },
    }
    return {
        "index.json": json.dumps(index).encode(),
        "choice-to-branches.bin": np.array([0, 2, 3, 4], "<u8").tobytes(),
        "branch-to-target.bin": np.array([0, 1, 2, 2], "<u8").tobytes(),
        "branch-to-probability.bin": np.array([0.5, 0.5, 1, 1], "<f8").tobytes(),
        "state-is-initial.bin": np.array([1], "<u8").tobytes(),
        "annotations/aps/goal/states/values.bin": np.array([4], "<u8").tobytes(),
        "annotations/rewards/cost/states/values.bin": np.array([3, 1, 9], "<f8").tobytes(),
    }


@pytest.mark.parametrize("squeeze", ["none", "gzip", "xz"])
def test_defaults_compression_and_rewards_of_states(tmp_path: Path, squeeze: str) -> None:
    data = pack(other_tool())
    if squeeze == "xz":
        data = lzma.compress(data)
    elif squeeze == "gzip":
        packer = zlib.compressobj(wbits=31)
        data = packer.compress(data) + packer.flush()
    (tmp_path / "a.umb").write_bytes(data)
    model = recurl.load(tmp_path / "a.umb")
    # Two visits of the first state in the mean, each paying 3, and one of the second.
    assert recurl.solve(model).value == pytest.approx(7)
    # A run may come back to the initial state: the entry is a copy of it.
    assert list(model.names.nodes) == ["start", "goal", "s0", "s1"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": "stochastic"}, "a continuous-time model with time 'stochastic', not discrete"),
        ({"n_players": 2}, "a game of 2 players"),
        ({"n_observations": 3}, "POMDP"),
        ({"n_states": 10**9}, "#states is 1000000000, not between 0 and 50000000"),
        ({"n_states": 40_000_000}, "state-to-choices.bin has .* bytes, not the 320000008"),
        ({"n_branches": 40_000_000}, "branch-to-target.bin has .* bytes, not the 320000000"),
        ({"branch-probability-type": {"type": "double-interval"}}, "'double-interval': double and"),
        ({"branch-probability-type": {"type": "rational", "size": 100}}, "not a multiple of 128"),
    ],
)
def test_what_is_not_known_or_absurd_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = changed(written(recurl.zoo.succinct(3), tmp_path), **changes)
    with pytest.raises(DocumentError, match=message):
        recurl.load(path)


@pytest.mark.parametrize(
    ("name", "instead", "message"),
    [
        ("index.json", None, "has no index.json"),
        ("index.json", b"[" * 100_000, "not valid JSON"),
        ("index.json", b"[]", "not a mapping"),
        ("branch-to-target.bin", None, "has no branch-to-target.bin"),
        ("state-is-initial.bin", None, "has 0 initial states"),
        ("branch-to-target.bin", b"\xff" * 216, "names state"),
    ],
)
def test_a_damaged_file_is_one_clear_error(
    tmp_path: Path, name: str, instead: bytes | None, message: str
) -> None:
    path = without(written(recurl.zoo.succinct(3), tmp_path), name, instead)
    with pytest.raises(DocumentError, match=message):
        recurl.load(path)


def hostile(name: str, kind: bytes = tarfile.REGTYPE) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "index.json"
        archive.addfile(member)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (hostile("../../etc/passwd"), "leads out of it"),
        (hostile("/etc/passwd"), "leads out of it"),
        (hostile("index.json", tarfile.SYMTYPE), "a link or device"),
        (hostile("index.json", tarfile.LNKTYPE), "a link or device"),
        (hostile("index.json")[:700], "is cut short"),
        (b"hello", "is cut short"),
        (b"x" * 2000, "is not a tar archive"),
        (b"\x1f\x8b\x08 nonsense", "cannot be decompressed"),
    ],
)
def test_a_hostile_archive_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.umb").write_bytes(data)
    with pytest.raises(DocumentError, match=message):
        recurl.load(tmp_path / "a.umb")


def test_an_archive_that_grows_beyond_measure_is_refused(tmp_path: Path) -> None:
    # Made here and not while tests are collected, which every process does.
    (tmp_path / "a.umb").write_bytes(lzma.compress(bytes(2**28 + 1), preset=0))
    with pytest.raises(DocumentError, match="unpacks to more than"):
        recurl.load(tmp_path / "a.umb")


# Storm, where it is installed


def simple(model: RMDP) -> bool:
    """Whether no choice pays differently on two ways to one state, which Storm does not know."""
    t = model.tables
    action = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    rows = {(a, b, r) for a, b, r in zip(action, t.target, t.reward, strict=True)}
    return len(rows) == len({row[:2] for row in rows})


@given(flat_models().filter(single_start).filter(simple))
def test_storm_reads_what_is_written(model: RMDP) -> None:
    stormpy = pytest.importorskip("stormpy", reason="needs the extra storm")
    stormpy.developer.set_log_level(stormpy.developer.LogLevel.OFF)
    with tempfile.TemporaryDirectory() as folder:
        found = stormpy.build_model_from_umb(str(written(model, Path(folder))))
    assert found.nr_states == model.tables.n_vertices
    assert found.nr_choices == model.tables.n_actions + int(model.tables.n_exits[0])


def test_storm_agrees_on_values_and_its_files_are_read(tmp_path: Path) -> None:
    stormpy = pytest.importorskip("stormpy", reason="needs the extra storm")
    model = recurl.unravel(recurl.zoo.cloud(), 3)
    found = stormpy.build_model_from_umb(str(written(model, tmp_path)))
    formula = stormpy.parse_properties('Pmax=? [ F "deeper" ]')[0]
    result = stormpy.model_checking(found, formula)
    ours = recurl.solve(model, of="exit:deeper").value
    assert float(result.get_value(found.initial_states[0])) == pytest.approx(ours, abs=1e-6)
    doubles = stormpy.io.UmbExportOptions()
    doubles.value_type = stormpy.io.UmbExportValueType.DOUBLE
    stormpy.io.export_to_umb(found, str(tmp_path / "back.umb"), options=doubles)
    again = recurl.load(tmp_path / "back.umb", goal=["u2", "deeper"])
    assert recurl.solve(again).value == pytest.approx(recurl.solve(model).value)
    assert recurl.solve(again, of="exit:deeper").value == pytest.approx(ours)
