from __future__ import annotations

import numpy as np
from tests.solving.references import retry_client

import recurl
from recurl.solving.ending_policy import ending_policy


def test_a_client_that_may_retry_for_ever_gives_up() -> None:
    model = retry_client()
    found = ending_policy(model)
    assert found is not None
    actions, steps = found
    policy = recurl.Policy.stackless(model, actions)
    assert recurl.evaluate(policy).steps == steps[model.tables.starts[0]] < np.inf


def test_none_ends() -> None:
    builder = recurl.Builder("shut").component("A", entries="in", exits=["x", "y"]).box("a", "A")
    builder.at("in").action("go").to("a").action("come").to("a")
    for name in ("x", "y"):
        builder.at(f"a.{name}").action("up").to(name)
    assert ending_policy(builder.build()) is None
