from __future__ import annotations

from pathlib import Path

import pytest

from recurl.errors import RecurlError
from recurl.programs.boolean.translate import boolean_program

LOCK = Path(__file__).parents[3] / "examples" / "lock.bp"


@pytest.mark.parametrize(
    ("text", "probability"),
    [
        ("void main() { assert(true); }", 0),
        ("void main() { assert(false); }", 1),
        ("void main() { assert(flip(0.3)); }", 0.7),
        ("void main() { assert(choose()); }", 0),
        # The guess comes before the coin.
        ("var x; void main() { x = *; assert(x == flip(0.6)); }", 0.4),
        # Only the first violation counts.
        ("void main() { p(); p(); } void p() { assert(flip(0.5)); }", 0.75),
        # A violation inside recursion ends everything: 1/4 / (1 - 1/4).
        (
            "void main() { if (flip(0.25)) { assert(false); } if (flip(1/3)) { main(); } }",
            1 / 3,
        ),
        # A global that a callee changes, and a result.
        (
            "var g; void main() { var x; x = set(true); assert(g && x); }"
            "bool set(v) { g = v; return flip(0.9); }",
            0.1,
        ),
        # A loop: each turn is wrong with 0.1 and goes on with 0.5.
        (
            "void main() { while (flip(0.5)) { assert(flip(0.9)); } }",
            0.05 / 0.55,
        ),
    ],
)
def test_least_violation_probabilities(text: str, probability: float) -> None:
    completion = boolean_program(text).solve()
    assert -completion.value == pytest.approx(probability, abs=1e-6)


def test_rewards_are_collected() -> None:
    text = """
    void main() { T(); }
    void T() { if (choose()) { reward(-8); } else { reward(-0.5); S(); S(); S(); reward(-0.5); } }
    void S() {
        var u;
        if (choose()) { reward(-1); if (flip(0.4)) { S(); } }
        else { reward(-1.5); if (flip(0.3)) { u = H(); reward(1/5); } }
    }
    bool H() {
        var u;
        if (choose()) { reward(-.2); return true; }
        reward(-0.01);
        if (flip(0.7)) { return false; }
        u = H();
        if (u) { return true; }
        u = H();
        return u;
    }
    """
    assert boolean_program(text).solve().value == pytest.approx(-5.34248536, abs=1e-6)


def test_reward_may_be_a_name() -> None:
    text = "var reward; void main() { reward = flip(0.5); assert(reward); }"
    assert boolean_program(text).solve().value == pytest.approx(-0.5)


def test_the_example_is_violated_once_in_forty() -> None:
    # A second driver with 1/4, and a wrong look with 1/10.
    completion = boolean_program(LOCK.read_text()).solve()
    assert -completion.value == pytest.approx(0.025, abs=1e-9)
    assert completion.run(4000).mean() == pytest.approx(-0.025, abs=0.013)
    model = completion.model
    entry = (
        "driver(locked=True, checked=True); driver, line 12: choose(True, False) with locked=True"
    )
    assert entry in model.labels.values()


def test_a_boolean_program_is_not_played() -> None:
    with pytest.raises(RecurlError, match="complete it to run it"):
        boolean_program("void main() { }").play()
