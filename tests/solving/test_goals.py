from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.solving.oracle import Chain, random_spec, stackless
from tests.solving.test_leaving import grow_or_leave, negotiation

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Values
from recurl.solving.goals import GoalCopies, with_goals
from recurl.solving.question import Question


def test_a_call_that_only_has_to_end_gets_another_goal() -> None:
    # No stackless policy leaves by x more often than 2/3: whoever grows everywhere may not end.
    model = grow_or_leave()
    found = recurl.solve(model, of="exit:x")
    assert found.lower > 1 - 1e-9
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
    assert found.policy is not None
    assert found.policy.kind != "stackless"
    attained = recurl.evaluate(found.policy).exit_intervals["x"]
    assert found.lower <= attained[1]
    best = max(Chain(model, choice).truth().exits[0] for choice in stackless(model, 64))
    assert float(best) == pytest.approx(2 / 3)


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("seed", [100012, 100096, 100102])
def test_the_policy_attains_its_end(seed: int, objective: str) -> None:
    model = random_spec(seed, exits=1 + seed // 2 % 3, actions=2)
    worth = np.eye(int(model.tables.n_exits[model.tables.start_component]))[1]
    question = Question(objective, "none", tuple(worth))
    found = with_goals(model, question, worth, greatest=objective == "max")
    policy = found.copies.policy(model, found.model, found.proof.actions)
    low, high = list(recurl.evaluate(policy).exit_intervals.values())[1]
    begin = int(found.model.tables.component_start[0])
    if objective == "max":
        assert found.proof.lower[begin, 1] == pytest.approx(low, abs=1e-9)
    else:
        assert found.proof.upper[begin, 1] == pytest.approx(high, abs=1e-9)


def test_one_copy_of_each_component_is_the_model_itself() -> None:
    model = negotiation(waits=True)
    t = model.tables
    copied = GoalCopies([0], [t.box_component.tolist()]).model(t)
    for name in ("vertex_kind", "vertex_box", "box_return", "action_start", "transition_start"):
        assert getattr(copied.tables, name).tolist() == getattr(t, name).tolist()
    twice = GoalCopies([0, 0], [[1], [0]]).model(t).tables
    assert twice.n_vertices == 2 * t.n_vertices
    assert twice.box_component.tolist() == [1, 0]


def values_of(given: recurl.Certificate) -> Values:
    assert given.values is not None
    assert given.values.copies
    return given.values


@pytest.mark.parametrize(
    "copies",
    [
        lambda own: own[::-1],
        lambda own: [(c, called[:-1]) for c, called in own],
        lambda own: [(c, [x + 7 for x in called]) for c, called in own],
        lambda own: [(c + 1, called) for c, called in own],
        lambda own: [(c, [0 for _ in called]) for c, called in own],
        lambda own: [],
    ],
)
def test_other_copies_are_refused(copies: object) -> None:
    model = grow_or_leave()
    own = recurl.solve(model, of="exit:x").certificate
    assert callable(copies)
    values = msgspec.structs.replace(values_of(own), copies=copies(values_of(own).copies))
    with pytest.raises(CertificateError):
        recurl.verify(model, msgspec.structs.replace(own, values=values))


def test_copies_survive_a_file(tmp_path: object) -> None:
    path = f"{tmp_path}/certificate.json"
    model = grow_or_leave()
    own = recurl.solve(model, of="exit:x").certificate
    own.save(path)
    loaded = recurl.Certificate.load(path)
    assert recurl.verify(model, loaded) == recurl.verify(model, own)
