"""The checker that is extracted from a Coq proof; ``make proved`` builds it, or all is skipped."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.verification import check_proved

import recurl
from recurl.errors import CertificateError
from recurl.verification import prove, write_proof, write_tables
from recurl.verification.proved import proved_program

VERIFIED = Path(__file__).parents[2] / "verified"
needs_program = pytest.mark.skipif(
    proved_program() is None, reason="the proved checker is not built (make proved)"
)
needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")
QUICK = [
    "and_or",
    "brackets",
    "cloud",
    "countdown",
    "epidemic",
    "gambler",
    "language",
    "palindrome",
]


# The proof


def test_the_proof_admits_nothing_and_has_one_axiom() -> None:
    text = "".join(path.read_text() for path in (VERIFIED / "theories").glob("*.v"))
    assert "Theorem verified" in text
    assert not any(word in text for word in ("Admitted", "admit.", "Axiom", "Parameter"))
    axioms = (VERIFIED / "assumptions.txt").read_text()
    assert axioms.count("Axioms:") == 1
    assert "Classical_Prop.classic : forall P : Prop, P \\/ ~ P" in axioms
    assert axioms.count("Closed under the global context") == 1


@needs_coq
def test_the_proof_holds_and_extracts_to_the_program() -> None:
    """Its axioms and the extracted text are those that are committed; nothing to do if built."""
    subprocess.run(["make", "-C", VERIFIED, "proof"], check=True, capture_output=True)


# Models and certificates


@needs_program
@pytest.mark.parametrize("name", QUICK)
def test_certificates_of_the_zoo_are_proved(name: str, tmp_path: Path) -> None:
    model = getattr(recurl.zoo, name)()
    given = recurl.solve(model).certificate
    assert given is not None
    recurl.dump(model, tmp_path / "model.json")
    tables = recurl.verify(model, given, proved=True)
    document = prove(model, given, document=tmp_path / "model.json")
    assert "table file" in tables.model
    assert "its document" in document.model
    assert (tables.lower, tables.upper) == (document.lower, document.upper)
    assert given.lower is not None
    assert given.upper is not None
    low, high = Fraction(tables.lower), Fraction(tables.upper)  # rounded outwards
    assert low <= Fraction(given.lower) < low + Fraction(1, 10**12)
    assert high - Fraction(1, 10**12) < Fraction(given.upper) <= high


@needs_program
@pytest.mark.parametrize("objective", ["max", "min"])
def test_other_questions_are_proved(objective: str) -> None:
    for name, of in (("cloud", "steps"), ("stack_matters", "steps"), ("palindrome", "steps")):
        model = getattr(recurl.zoo, name)()
        given = recurl.solve(model, of=of, objective=objective).certificate
        assert given is not None
        proof = recurl.verify(model, given, proved=True)
        assert ("greatest" if objective == "max" else "least") in proof.question


def _client() -> recurl.RMDP:
    """Some policies never end, and pay for it."""
    builder = recurl.Builder("client").component("Client", entries="in", exits=["shown", "lost"])
    builder.box("get", "Fetch").at("in").action("ask", reward=-1).to("get")
    builder.at("get.ok").action("show").to("shown")
    builder.at("get.failed").action("retry", reward=-1).to("get")
    builder.action("give up", reward=-9).to("lost")
    builder.component("Fetch", entries="in", exits=["ok", "failed"])
    builder.at("in").action("try", reward=-1).to("ok", 0.6).to("failed", 0.4)
    builder.action("wait", reward=-1).to("room")
    builder.at("room").action("wait", reward=-1).to("room")
    builder.action("try", reward=-1).to("ok", 0.7).to("failed", 0.3)
    return builder.build("Client")


def _walk(up: float, reward: float) -> recurl.RMDP:
    """A call of itself twice, or the end."""
    builder = recurl.Builder("walk").component("A", entries="in", exits="out")
    builder.box("one", "A").box("two", "A")
    builder.at("in").action("go", reward=reward).to("one", up).to("out", 1 - up)
    builder.at("one.out").action("go").to("two").at("two.out").action("go").to("out")
    return builder.build()


@needs_program
def test_costs_and_the_end_of_one_policy_are_proved() -> None:
    model = _client()
    given = recurl.solve(model, "certified").certificate
    assert given is not None
    assert recurl.verify(model, given).theorems == ("costs", "policy")
    proof = recurl.verify(model, given, proved=True)
    assert float(proof.lower) <= -10 / 3 <= float(proof.upper)


@needs_program
def test_infinite_optima_are_proved() -> None:
    found = Counter[tuple[str, str]]()
    for reward in (-1.0, 1.0):
        for objective in ("max", "min"):
            model = _walk(0.625, reward)
            given = recurl.solve(model, objective=objective).certificate
            if given is not None and given.infinite is not None and given.values is None:
                proof = recurl.verify(model, given, proved=True)
                assert proof.lower == proof.upper == given.infinite
                found[objective, proof.lower] += 1
    assert found


@needs_program
@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("reward", [1, -1])
def test_values_by_state_are_proved(objective: str, reward: int) -> None:
    """A process in which one may stay forever, with a call."""
    builder = recurl.Builder("stay").component("A", entries="in", exits=["done", "lost"])
    builder.box("b", "B").at("in").action("call", reward=reward).to("b")
    builder.at("b.out").action("go").to("done", "2/3").to("room", "1/3")
    builder.at("room").action("wait").to("room").action("try", reward=reward).to("lost")
    builder.component("B", entries="in", exits="out").at("in").action("wait").to("hall")
    builder.at("hall").action("wait").to("hall").action("go", reward=reward).to("out")
    model = builder.build("A")
    totals = {"max": {1: 7 / 3, -1: -1.0}, "min": {1: 1.0, -1: -7 / 3}}
    for of in ("reward", "exit:lost"):
        given = recurl.solve(model, of=of, objective=objective).certificate
        assert given is not None
        assert given.values is not None
        proof = recurl.verify(model, given, proved=True)
        leaves = 1 / 3 if objective == "max" else 0.0
        value = totals[objective][reward] if of == "reward" else leaves
        assert float(proof.lower) - 1e-12 <= value <= float(proof.upper) + 1e-12


@needs_program
@needs_coq
@pytest.mark.parametrize("name", ["and_or", "cloud"])
def test_coq_accepts_the_statement_itself_as_a_theorem(name: str, tmp_path: Path) -> None:
    model = getattr(recurl.zoo, name)()
    given: Any = recurl.solve(model).certificate
    theories = VERIFIED / "build" / "theories"
    if not (theories / "Statement.vo").exists():
        pytest.skip("the proof is not compiled (make proved)")

    def coq(claim: Any) -> subprocess.CompletedProcess[str]:
        write_proof(model, claim, tmp_path / "proof.v")
        command = ["coqc", "-Q", str(theories), "Recurl", "proof.v"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    good = coq(given)
    assert good.returncode == 0, good.stderr
    assert "classic" in good.stdout
    wrong = coq(msgspec.structs.replace(given, lower=given.lower + 1e-3))
    assert "Unable to unify" in wrong.stderr


# What is refused


@needs_program
def test_what_the_proof_does_not_cover_is_refused_by_name() -> None:
    model = recurl.zoo.cloud(exits=1)
    given = recurl.solve(model).certificate
    assert given is not None
    with pytest.raises(CertificateError, match="endless are not covered by the proof"):
        prove(model, msgspec.structs.replace(given, endless="inf"))
    with pytest.raises(CertificateError, match="another model"):
        prove(recurl.zoo.cloud(), given)
    with pytest.raises(CertificateError, match="scale: -4611686018427387904"):
        prove(model, msgspec.structs.replace(given, scale=-(2**62)))
    large = recurl.zoo.random_model(components=300, nodes=30, kind="one_exit")
    other = msgspec.structs.replace(recurl.solve(large).certificate, scale=10**5)
    with pytest.raises(CertificateError, match="sizes differ too much"):
        prove(large, other)
    assert given.lower is not None
    with pytest.raises(CertificateError, match="not proved"):
        prove(model, msgspec.structs.replace(given, lower=given.lower + 1e-6))


@needs_program
@pytest.mark.parametrize("name", ["cloud", "and_or", "stack_matters"])
def test_changed_certificates_find_both_checkers_of_one_mind(name: str) -> None:
    said = check_proved.check_zoo([name], 100)
    assert said["both refuse"] > 20
    assert said["both accept"] > 5
    assert not [what for what in said if check_proved.ALONE in what]


@needs_program
def test_certificates_of_models_that_may_not_end_find_both_checkers_of_one_mind() -> None:
    said = check_proved.check(7009, each=10)
    assert said["both refuse"] > 5
    assert not [what for what in said if check_proved.ALONE in what]


@needs_program
@pytest.mark.parametrize("name", ["cloud", "palindrome"])
def test_changed_documents_of_models_get_a_verdict(name: str) -> None:
    said = check_proved.check_documents(name, random.Random(1), 60)
    assert said["refused"] > 10
    assert not [what for what in said if check_proved.ALONE in what]


@needs_program
def test_changed_table_files_get_a_verdict() -> None:
    said = check_proved.check_tables("stack_matters", random.Random(5), 100)
    assert said["refused"] > 50
    assert set(said) <= {"refused", "not proved", "proved"}


@needs_program
@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 10**5, '{"recurl": 1}', '{"a": 1, "a": 1}', "1" * 10**6, "\x00", '"\\ud800"'],
)
def test_odd_files_get_a_verdict(text: str, tmp_path: Path) -> None:
    model = recurl.zoo.cloud(exits=1)
    given = recurl.solve(model).certificate
    assert given is not None
    (tmp_path / "odd.json").write_text(text, encoding="utf-8")
    write_tables(model, tmp_path / "model.json")
    data = msgspec.json.encode(given)
    assert check_proved.judge(tmp_path / "odd.json", [data], tmp_path)[0]["verdict"] == "refused"
    verdicts = check_proved.judge(tmp_path / "model.json", [text.encode(), data], tmp_path)
    assert [verdict["verdict"] for verdict in verdicts] == ["refused", "proved"]


# Numbers


@needs_program
def test_ends_are_rounded_outwards(tmp_path: Path) -> None:
    """The optimum of a model that pays x at once is x; claims around it are floats of any size."""
    draw = np.random.default_rng(3)
    for x in [0.1, 1e-7, 123456789012345678.0, 2.5e-300, *(10.0 ** draw.uniform(-30, 30, 20))]:
        builder = recurl.Builder("pay").component("A", entries="in", exits="out")
        builder.at("in").action("pay", reward=float(x)).to("out")
        model = builder.build()
        given = recurl.solve(model).certificate
        assert given is not None
        assert given.lower is not None
        assert given.upper is not None
        proof = recurl.verify(model, given, proved=True)
        low, high = Fraction(proof.lower), Fraction(proof.upper)
        assert low <= Fraction(given.lower) <= Fraction(given.upper) <= high
        assert Fraction(given.lower) - low <= abs(low) / 10**16
        assert high - Fraction(given.upper) <= abs(high) / 10**16


@needs_program
def test_models_of_floats_are_taken_as_what_they_are_in_binary(tmp_path: Path) -> None:
    model = recurl.zoo.random_model(seed=3, components=2, nodes=5)
    assert model.exact.binary
    given = recurl.solve(model).certificate
    assert given is not None
    recurl.dump(model, tmp_path / "model.json")
    assert prove(model, given).lower == prove(model, given, document=tmp_path / "model.json").lower


# Without the program


def test_without_the_program_the_way_to_build_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECURL_PROVED", "/nowhere/at-all")
    model = recurl.zoo.cloud(exits=1)
    given: Any = recurl.solve(model).certificate
    with pytest.raises(CertificateError, match="make proved"):
        recurl.verify(model, given, proved=True)


@needs_program
def test_a_program_that_says_nothing_proves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "fake"
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    monkeypatch.setenv("RECURL_PROVED", str(fake))
    model = recurl.zoo.cloud(exits=1)
    given: Any = recurl.solve(model).certificate
    with pytest.raises(CertificateError, match="no verdict"):
        recurl.verify(model, given, proved=True)


@pytest.mark.parametrize("binary", [False, True])
def test_table_files_have_every_different_number_once(binary: bool, tmp_path: Path) -> None:
    model = recurl.zoo.random_model(components=2, nodes=5) if binary else recurl.zoo.cloud()
    write_tables(model, tmp_path / "model.json")
    tables = json.loads((tmp_path / "model.json").read_text())
    numbers = [text if text == "rest" else Fraction(text) for text in tables["numbers"]]
    used = {*tables["prob"], *tables["reward"]}
    assert len({numbers[i] for i in used}) == len(used)
    t, exact = model.tables, model.exact
    for a in range(t.n_actions):
        own = list(t.transitions_of(a))
        prob = [numbers[tables["prob"][i]] for i in own]
        if binary:
            assert prob[-1] == "rest"
            prob[-1] = 1 - sum(prob[:-1])
        assert prob == [exact.prob(i) for i in own]
    assert [numbers[i] for i in tables["reward"]] == [
        exact.reward(i) for i in range(t.n_transitions)
    ]
