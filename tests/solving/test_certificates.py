"""No certificate leaves unchecked: what a solution hands out, the library's own checker accepts."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from tests.solving.check_certificates import QUESTIONS, failures, model_of

import recurl
from recurl.errors import CertificateError

MALFORMED = """
recurl: 1
name: random31183
start: C0
components:
  C0:
    entries: [e0]
    exits: [x0, x1]
    boxes: {b0: C1}
    vertices:
      e0:
        a0: {reward: -2/5, to: x0}
        a1: {reward: -3/2, to: b0}
      b0.x0:
        a0: {reward: -1/2, to: x1}
  C1:
    entries: [e0]
    exits: [x0]
    boxes: {b0: C0}
    vertices:
      e0:
        a0: {reward: -1, to: x0}
        a1: {reward: -2, to: x0}
      n0:
        a0: {reward: -5/4, to: x0}
      b0.x0:
        a0: {reward: -3, to: b0}
      b0.x1:
        a0: {reward: -4/3, to: x0}
        a1: {reward: -2/5, to: x0}
"""


def test_boxes_that_no_run_enters() -> None:
    model = recurl.loads(MALFORMED)
    proved = recurl.verify(model, recurl.solve(model).certificate)
    assert proved.lower is not None
    assert proved.upper is not None
    assert proved.lower <= -0.4 <= proved.upper
    assert proved.upper - proved.lower < 1e-15


SEEDS = (*range(7), 9, 11, 13, 14, 15, 17, 18, 19, 21, 23, 29, 59)
"""Some of all kinds that take little time."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sample_of_models_of_all_kinds(seed: int) -> None:
    of, objective = QUESTIONS[seed % len(QUESTIONS)]
    assert list(failures(model_of(seed), of, objective)) == []


def test_chains_with_many_exits() -> None:
    chain = recurl.zoo.random_model(15, 2, 1, actions=1, exits=40)
    assert list(failures(chain, "reward", "max")) == []


@pytest.mark.parametrize(
    ("seed", "components", "nodes", "exits", "actions"), [(3, 2, 3, 12, 2), (11, 4, 8, 36, 3)]
)
def test_deterministic_models_whose_entries_differ_in_their_exits(
    seed: int, components: int, nodes: int, exits: int, actions: int
) -> None:
    model = recurl.zoo.random_model(
        seed, components, nodes,
        kind="deterministic", exits=exits, entries=2, actions=actions,
    )  # fmt: skip
    found = recurl.solve(model)
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)


def test_evidence_that_does_not_hold_is_not_handed_out() -> None:
    found = recurl.solve(recurl.zoo.cloud(exits=1))
    wrong = msgspec.structs.replace(found.certificate, lower=found.upper + 1, upper=None)
    with pytest.raises(CertificateError, match=r"no certificate .* holds .*the lower claim"):
        _ = replace(found, _certify=lambda: wrong).certificate


@pytest.mark.parametrize(
    ("of", "objective", "words"),
    [
        ("reward", "max", "greatest expected total reward"),
        ("steps", "min", "least expected number of steps"),
        ("exit:out", "min", "least probability to leave by out"),
    ],
)
def test_a_certificate_names_its_question(
    of: str, objective: str, words: str, tmp_path: Path
) -> None:
    model = recurl.zoo.gambler(p=0.4)
    certificate = recurl.solve(model, of=of, objective=objective).certificate
    certificate.save(tmp_path / "made.cert")
    assert f'"claim":"{words}"' in (tmp_path / "made.cert").read_text()
    assert f"proved: the {words} " in str(recurl.verify(model, certificate))
    other = msgspec.structs.replace(certificate, claim="greatest number of stars")
    with pytest.raises(
        CertificateError, match=f"about the greatest number of stars, not the {words}"
    ):
        recurl.verify(model, other)
    silent = msgspec.structs.replace(certificate, claim="")
    assert recurl.verify(model, silent).claim == words


@pytest.mark.parametrize("choice", [False, True])
@pytest.mark.parametrize("objective", ["max", "min"])
def test_rare_events_are_bounded_relative_to_their_size(choice: bool, objective: str) -> None:
    builder = recurl.Builder("rare").component("A", entries="in", exits=["bad", "good"])
    places = ["in", *(f"s{i}" for i in range(1, 60)), "bad"]
    for place, after in itertools.pairwise(places):
        builder.at(place).action("go").to(after, "0.1").to("good", "0.9")
        if choice:
            builder.action("hurry").to(after, "0.2").to("good", "0.8")
    model = builder.build()
    truth = Fraction(1, 5 if choice and objective == "max" else 10) ** 60
    found = recurl.solve(model, of="exit:bad", objective=objective)
    assert found.lower <= truth <= found.upper < truth * Fraction(1000001, 1000000)
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)


def test_the_interval_is_the_one_that_is_proved_where_floats_cancel() -> None:
    builder = recurl.Builder("cancel").component("A", entries="in", exits="out")
    builder.at("in").action("gain", reward=10**16).to("s").at("s").action("one", reward=1).to("t")
    model = builder.at("t").action("lose", reward=-(10**16)).to("out").build()
    found = recurl.solve(model)
    proved = recurl.verify(model, found.certificate)
    assert found.lower <= 1 <= found.upper
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
