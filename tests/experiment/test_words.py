from __future__ import annotations

import recurl
from recurl.experiment.words import policy_words


def test_choices_are_told_most_frequent_first() -> None:
    policy = recurl.Policy.stackless(
        recurl.zoo.cloud(exits=1), {"T.u1": "divide", "S.u3": "reliable"}
    )
    assert policy_words(policy) == [
        "In S at u3: always reliable.",
        "In T at u1: always divide.",
    ]


def test_a_choice_that_varies_is_told_with_its_share() -> None:
    words = policy_words(recurl.Policy.uniform(recurl.zoo.cloud(exits=1)))
    assert any("of the time), else" in line for line in words)
