from __future__ import annotations

import copy
import json
import pickle  # noqa: TID251  # what other processes are sent
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.definition import models

import recurl
from recurl.errors import CheckpointError, UnknownNameError
from recurl.policy import RANDOM, Policy


def test_a_stackless_policy_by_names() -> None:
    model = recurl.zoo.cloud()
    policy = Policy.stackless(model, {"T.u1": "divide", "H.u5": "yes"})
    assert policy.action_name("T.u1") == "divide"
    assert policy.action_name("S.u3") == "reliable"  # left out: the first
    assert policy.action(model.find("H.u5")) == 1
    assert (policy.kind, policy.n_contexts) == ("stackless", 3)
    assert repr(policy) == "<Policy for cloud: stackless, 3 contexts>"


def test_a_stackless_policy_by_numbers_is_the_same() -> None:
    model = recurl.zoo.cloud()
    numbers = np.zeros(model.tables.n_vertices, int)
    numbers[model.find("T.u1")] = 1
    policy = Policy.stackless(model, numbers)
    assert policy == Policy.stackless(model, {"T.u1": "divide"})
    assert hash(policy) == hash(Policy.stackless(model, {"T.u1": "divide"}))
    assert policy != Policy.stackless(model, {})
    assert policy != "policy"


def test_the_uniform_policy_takes_any_action() -> None:
    policy = Policy.uniform(recurl.zoo.cloud())
    assert policy.action_name("S.u3") == "any"
    assert (policy.actions == RANDOM).all()


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"T.u9": "mono"}, "Unknown vertex of component T 'u9'. Known: b1.u3"),
        ({"X.u1": "mono"}, "Unknown component 'X'"),
        ({"T.u1": "devide"}, "Unknown action of T.u1 'devide'. Did you mean 'divide'"),
    ],
)
def test_unknown_names_are_answered_with_close_ones(choice: dict[str, str], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        Policy.stackless(recurl.zoo.cloud(), choice)


def contexts(model: recurl.RMDP, **changes: object) -> Policy:
    """Two contexts of the gambler's component that call each other."""
    size = model.tables.n_vertices
    given_ = {
        "context_component": [0, 0],
        "actions": np.zeros(2 * size, int),
        "callees": np.repeat([1, 0], size),
        "start": [0],
        "labels": ["outer", "inner"],
    } | changes
    return Policy(model, given_.pop("context_component"), given_.pop("actions"), **given_)  # type: ignore[arg-type]


def test_contexts_own_slots_one_after_the_other() -> None:
    model = recurl.zoo.gambler()
    policy = contexts(model)
    assert policy.slot_vertex.tolist() == [*range(6), *range(6)]
    assert policy.slot(1, 4) == 10
    assert policy.action_name("W.in", context=1) == "bet"
    with pytest.raises(ValueError, match="depends on the context"):
        policy.action(0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": np.zeros(11, int)}, "needs 12 actions and callees"),
        ({"callees": np.zeros(13, int)}, "needs 12 actions and callees"),
        ({"actions": np.full(12, 1)}, "W.in has 1 actions, not number 1"),
        ({"actions": np.full(12, -2)}, "W.in has 1 actions, not number -2"),
        ({"callees": np.full(12, 2)}, "must enter a context of the component called"),
        ({"callees": np.full(12, -1)}, "must enter a context of the component called"),
    ],
)
def test_what_fits_no_model_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        contexts(recurl.zoo.gambler(), **changes)


def test_a_start_in_another_component_is_refused() -> None:
    model = recurl.zoo.cloud()
    stackless = Policy.stackless(model, {})
    parts = {"callees": stackless.callees, "start": [1]}
    with pytest.raises(ValueError, match="start in a context of the start component"):
        Policy(model, stackless.context_component, stackless.actions, **parts)


@given(models(), st.integers(0, 2**32 - 1))
def test_a_policy_comes_back_from_its_file(model: recurl.RMDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = np.diff(model.tables.action_start)
    policy = Policy.stackless(model, rng.integers(-1, np.maximum(counts, 1)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        policy.save(path)
        again = Policy.load(path, model)
    assert again == policy
    assert (again.kind, again.labels) == (policy.kind, policy.labels)


def test_labels_and_contexts_come_back_too(tmp_path: Path) -> None:
    model = recurl.zoo.gambler()
    contexts(model).save(tmp_path / "p.json")
    again = Policy.load(tmp_path / "p.json", model)
    assert again == contexts(model)
    assert again.labels == ("outer", "inner")


def test_a_file_for_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    Policy.uniform(recurl.zoo.cloud()).save(path)
    with pytest.raises(CheckpointError, match="for another model than gambler"):
        Policy.load(path, recurl.zoo.gambler())


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[1, 2]",
        lambda text: "\x00\xff",
        lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "actions"}),
        lambda text: json.dumps(json.loads(text) | {"actions": [0]}),
        lambda text: json.dumps(json.loads(text) | {"actions": "none"}),
        lambda text: json.dumps(json.loads(text) | {"context_component": [5]}),
        lambda text: json.dumps(json.loads(text) | {"start": [9]}),
    ],
)
def test_a_damaged_file_is_one_clear_error(damage, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model, path = recurl.zoo.gambler(), tmp_path / "p.json"
    contexts(model).save(path)
    path.write_text(damage(path.read_text()), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"p\.json is not a policy for gambler"):
        Policy.load(path, model)


def test_a_missing_file_is_the_same_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"none\.json is not a policy"):
        Policy.load(tmp_path / "none.json", recurl.zoo.gambler())


def test_policies_are_pickled_whole_and_copied_as_themselves() -> None:
    model = recurl.zoo.stack_matters()
    for policy in (Policy.uniform(model), recurl.solve(model, epsilon=0.01).policy):
        assert policy is not None
        other = pickle.loads(pickle.dumps(policy))  # noqa: S301
        assert other == policy
        assert (other.labels, other.kind) == (policy.labels, policy.kind)
        assert not other.actions.flags.writeable
        assert copy.deepcopy([policy])[0] is policy
