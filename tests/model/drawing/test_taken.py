from __future__ import annotations

import pytest

import recurl
from recurl.model.drawing.taken import actions_taken


def names(model: recurl.RMDP, policy: recurl.Policy | None) -> dict[str, str]:
    assert policy is not None
    t = model.tables
    return {
        f"{model.vertex_name(int(t.action_vertex[a]))} {model.action_name(a)}": how
        for a, how in actions_taken(model, policy).items()
    }


def test_a_stackless_policy_takes_one_action_always() -> None:
    model = recurl.zoo.cloud(exits=1)
    policy = recurl.Policy.stackless(model, {"T.u1": "divide", "S.u3": "fast"})
    found = names(model, policy)
    assert found["T.u1 divide"] == found["S.u3 fast"] == "always"
    assert "S.u3 reliable" not in found


def test_what_depends_on_the_context_or_on_chance_is_taken_sometimes() -> None:
    model = recurl.zoo.cloud()
    found = names(model, recurl.solve(model).policy)
    assert found["H.u5 no"] == found["H.u5 yes"] == "sometimes"
    assert found["T.u1 divide"] == "always"
    assert names(model, recurl.Policy.uniform(model))["T.u1 mono"] == "sometimes"


def test_vertices_that_are_never_reached_have_no_action() -> None:
    model = recurl.zoo.cloud(exits=1)
    found = names(model, recurl.Policy.stackless(model, {"T.u1": "mono"}))
    assert list(found) == ["T.u1 mono"]


def test_another_model_and_another_thing_are_refused() -> None:
    model = recurl.zoo.cloud()
    with pytest.raises(ValueError, match="for another model than cloud"):
        model.draw(recurl.Policy.uniform(recurl.zoo.gambler()))
    with pytest.raises(TypeError, match=r"not Solution: give \.policy"):
        model.draw(recurl.solve(model))  # type: ignore[arg-type]
