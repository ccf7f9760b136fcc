from __future__ import annotations

import pytest

import recurl
from recurl.errors import UnknownNameError
from recurl.solving.question import Question


def test_what_transitions_pay() -> None:
    t = recurl.zoo.cloud().tables
    assert (Question().transition_rewards(t) == t.reward).all()
    assert (Question("min").transition_rewards(t) == -t.reward).all()
    assert (Question("max", "steps").transition_rewards(t) == 1).all()
    assert (Question("min", "steps").transition_rewards(t) == -1).all()
    assert (Question("min", "none").transition_rewards(t) == 0).all()


def test_what_exits_are_worth() -> None:
    t = recurl.zoo.and_or().tables
    assert Question().root_values(t).tolist() == [0.0]
    assert Question("min", "none", (2.5,)).root_values(t).tolist() == [-2.5]
    with pytest.raises(ValueError, match="has 1 exits, exit_values 2"):
        Question("max", "none", (1.0, 2.0)).root_values(t)


def test_exits_by_name() -> None:
    model = recurl.zoo.cloud()
    assert Question.leave_by(model, "u2", "min") == Question("min", "none", (1.0,))
    with pytest.raises(UnknownNameError, match="u2"):
        Question.leave_by(model, "u3")


def test_exits_of_programs_by_the_value_returned() -> None:
    builder = recurl.Builder("f").component(
        "f", entries="in", exits=["return True", "return False"]
    )
    builder.at("in").action("go").to("return True", "1/4").to("return False", "3/4")
    model = builder.build()
    assert Question.leave_by(model, "True") == Question.leave_by(model, "return True")
    assert recurl.solve(model, of="exit:True").value == pytest.approx(0.25)
    with pytest.raises(UnknownNameError, match="None"):
        Question.leave_by(model, "None")


@pytest.mark.parametrize(("objective", "rewards"), [("most", "model"), ("max", "gold")])
def test_unknown_words(objective: str, rewards: str) -> None:
    with pytest.raises(UnknownNameError, match="Known: "):
        Question(objective, rewards)
