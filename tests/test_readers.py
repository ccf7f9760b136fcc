"""Every reader of files, with files that are damaged, hostile or absurd: one clear error each.

The long run of the same mutations is `scripts/fuzz_readers.py`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fuzz_readers
import recurl
from recurl.errors import CertificateError, CheckpointError, DocumentError, RecurlError
from recurl.experiment.document import ExperimentError, load_experiments
from recurl.experiment.study import optimum_of
from recurl.learn.checkpoint import checkpoint_bytes, read_checkpoint
from recurl.model.limits import read_bytes, read_note
from recurl.zoo import cloud, gambler


@pytest.mark.parametrize("reader", sorted(fuzz_readers.READERS))
def test_mutated_files_are_read_or_refused(reader: str, tmp_path: Path) -> None:
    if reader in fuzz_readers.NEEDS:
        pytest.importorskip(fuzz_readers.NEEDS[reader], reason="needs an extra")
    mutations = 5 if reader in fuzz_readers.SLOW else 25
    counts = fuzz_readers.fuzz(reader, tmp_path, seed=1, mutations=mutations)
    assert sum(counts.values()) == mutations
    assert counts["refused"]


def test_a_long_string_in_a_damaged_json_model_is_one_message(tmp_path: Path) -> None:
    """In a process of its own with little memory: the old expression took 97 bytes a character."""
    path = tmp_path / "a.json"
    path.write_text('{"recurl": 1, "name": "' + "x" * 8_000_000 + '", "components": []}')
    code = (
        "import resource, recurl\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))\n"
        f"try: recurl.load({str(path)!r})\n"
        "except recurl.errors.DocumentError as error: print(str(error)[-2000:])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "components: is a list, not a mapping" in done.stdout, done.stderr[-500:]
    assert len(done.stdout) < 5000


def test_a_string_of_escapes_is_as_good(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"recurl": 1, "name": "' + "\\n" * 300_000 + '", "components": []}')
    with pytest.raises(DocumentError, match="not a mapping"):
        recurl.load(path)


def test_lines_are_not_looked_for_in_a_very_large_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recurl.model.document.source.LARGEST_PLACED", 100)
    path = tmp_path / "a.json"
    path.write_text('{"recurl": 1, "components": [' + "0, " * 100 + "0]}")
    with pytest.raises(DocumentError) as caught:
        recurl.load(path)
    assert caught.value.problems[0].line is None


def test_colons_in_texts_are_no_repeated_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"recurl": 1, "name": "a\\": b", "name": "c", "components": {}}')
    with pytest.raises(DocumentError, match="the key comes twice"):
        recurl.load(path)


@pytest.mark.parametrize("name", ["a.yaml", "a.umb", "a.bp", "a.txt", "a.rmc", "a.prism"])
def test_a_pipe_is_refused_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(DocumentError, match="is not a regular file"):
        recurl.load(tmp_path / name)


def test_a_machine_that_names_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.yaml")
    (tmp_path / "a.yaml").write_text("{recurl: 1, machine: m.yaml}")
    with pytest.raises(DocumentError, match="is not a regular file"):
        recurl.load(tmp_path / "a.yaml")


def test_a_folder_and_a_large_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="is not a regular file"):
        read_bytes(tmp_path)
    (tmp_path / "a").write_bytes(bytes(1 << 21))
    with pytest.raises(DocumentError, match="is larger than 1 MiB"):
        read_bytes(tmp_path / "a", 1 << 20)


DEEP = "[" * 100_000


def bad_program(folder: Path, data: bytes) -> object:
    (folder / "a.bp").write_bytes(data)
    return recurl.load(folder / "a.bp")


@pytest.mark.parametrize(
    "text",
    [
        b"var x; void main() { x = \xff; }",
        b"var x; void main() { x =",
        b"var x; void main() { x = " + b"(" * 50_000,
        b"var x; void main() { x = " + b"!" * 50_000 + b"x; }",
        b"void main() { " + b"if (true) { " * 3000,
        b"void main() { " + b"y" * 100_000 + b" = true; }",
    ],
)
def test_bad_boolean_programs(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        bad_program(tmp_path, text)
    assert len(str(caught.value)) < 2000


def test_a_program_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecurlError, match="more than 250000 steps"):
        bad_program(tmp_path, b"var x; void main() { while (true) { x = !x; } }")


def test_an_exploration_ends_when_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recurl.model.limits.time.monotonic", iter(range(0, 10**6, 400)).__next__)
    with pytest.raises(RecurlError, match="is not explored after 300 s"):
        bad_program(tmp_path, b"var x; void main() { x = flip(0.5); assert(x); }")


@pytest.mark.parametrize("data", [b"\xff", b"{", b"[]", DEEP.encode(), b'{"model": "\xff"}'])
def test_bad_certificates_policies_and_notes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with pytest.raises(CertificateError):
        recurl.Certificate.load(path)
    with pytest.raises(CheckpointError):
        recurl.Policy.load(path, gambler())
    with pytest.raises(ValueError, match=r"\w"):
        read_note(path, dict[str, int])
    assert optimum_of(gambler(p=0.25), path).lower is not None


def test_a_policy_with_numbers_beyond_32_bits(tmp_path: Path) -> None:
    policy = recurl.Policy.stackless(gambler(), {})
    policy.save(tmp_path / "p")
    text = (tmp_path / "p").read_text()
    assert '"start":[0]' in text
    (tmp_path / "p").write_text(text.replace('"start":[0]', '"start":[2147483648]'))
    with pytest.raises(CheckpointError, match="is not a policy"):
        recurl.Policy.load(tmp_path / "p", gambler())


@pytest.mark.parametrize(
    "header", [b"{'descr'", b"{'descr': '<f8', 'fortran_order': False, 'shape': (9**9**9,)}", b"("]
)
def test_a_checkpoint_whose_array_header_is_broken(tmp_path: Path, header: bytes) -> None:
    good = checkpoint_bytes({"kind": "x"}, {"q": np.zeros(3)})
    start = good.index(b"{'descr'")
    end = good.index(b"\n", start)
    broken = good[:start] + header.ljust(end - start)[: end - start] + good[end:]
    (tmp_path / "c").write_bytes(broken)
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(tmp_path / "c", "x")
    assert len(str(caught.value)) < 1000


EXPERIMENT = "models: {cloud: }\nmethods: {a: {algorithm: rql}}\nsteps: 100\nseeds: 2\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds: 2", "seeds: 1000000000000", "seeds: '1000000000000' is not a whole number"),
        ("seeds: 2", "seeds: [-1]", "a seed: '-1' is not a whole number from 0"),
        ("seeds: 2", "seeds: [1e400]", "a seed: '1e400' is not a whole number"),
        ("seeds: 2", "seeds: 1e400", "seeds: '1e400' is not a whole number"),
        ("steps: 100", "steps: 1e999", "steps: '1e999' is not a whole number"),
        ("steps: 100", "steps: [1]", "steps: .* is not a whole number"),
        ("{cloud: }", "{cloud: {zoo: [a]}}", "zoo is one name, not"),
        ("{cloud: }", "{cloud: {zo: a}}", "unknown key 'zo'"),
        ("{cloud: }", "{}", "names no models"),
        ("{cloud: }", "[" * 60 + "]" * 60, "nested more than"),
        ("{cloud: }", "{x: &a [b], y: *a}", "anchors"),
        ("{cloud: }", "{" + "x" * 200_000 + ": {zoo: 1, file: 2}}", "."),
        (EXPERIMENT, "", "is empty"),
    ],
)
def test_bad_experiments(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(EXPERIMENT.replace(old, new))
    with pytest.raises(ExperimentError, match=message) as caught:
        load_experiments(path)
    assert len(str(caught.value)) < 2000


def test_an_alias_bomb_in_settings_is_refused(tmp_path: Path) -> None:
    bomb = "settings:\n  a: &a [x, x]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True):
        bomb += f"  {new}: &{new} [" + ", ".join([f"*{old}"] * 9) + "]\n"
    (tmp_path / "e.yaml").write_text(EXPERIMENT + bomb)
    with pytest.raises(ExperimentError, match=r"anchors \(&\) and aliases"):
        load_experiments(tmp_path / "e.yaml")


def test_an_experiment_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_bytes(b"models: \xff")
    with pytest.raises(DocumentError, match="UTF-8"):
        load_experiments(tmp_path / "e.yaml")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: recurl.zoo.random_model(exits=99_999_999), "vertices, more than"),
        (lambda: recurl.automaton.gridworld("S" + "." * 2_000_000 + "G"), "cells, more than"),
    ],
)
def test_sizes_that_cannot_be_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_reward_beyond_all_floats_is_refused(tmp_path: Path) -> None:
    text = "{recurl: 1, grid: {map: S.G, ends: G, rewards: {G: 1e400}}}"
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(DocumentError, match="too large for a float"):
        recurl.load(tmp_path / "a.yaml")


def test_long_names_are_not_echoed() -> None:
    with pytest.raises(RecurlError) as caught:
        recurl.zoo.make("x" * 100_000)
    assert len(str(caught.value)) < 2000


def test_a_dollar_in_a_name_begins_no_formula() -> None:
    import matplotlib.pyplot as plt

    from recurl.experiment import figure

    with plt.rc_context(figure._STYLE):
        drawn, axes = plt.subplots()
        axes.set_title(r"$\frac{1}{$ x")
        drawn.canvas.draw()
    plt.close(drawn)


def test_mutations_are_the_same_for_the_same_seed() -> None:
    data = b"recurl: 1\nname: cloud\n" * 5
    one, two = (fuzz_readers.mutated(data, random.Random(7)) for _ in range(2))
    assert one == two
    assert cloud().name == "cloud"
