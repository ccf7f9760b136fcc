from __future__ import annotations

import recurl
from recurl.experiment.words import policy_words


def test_choices_are_told_most_frequent_first() -> None:
    policy = recurl.Policy.stackless(
        recurl.zoo.cloud(exits=1), {"T.u1": "divide", "S.u3": "reliable"}
    )
    assert list(policy_words(policy).items()) == [
        ("S", ["at u3: reliable"]),
        ("T", ["at u1: divide"]),
    ]


def test_a_choice_that_varies_is_told_with_its_shares_and_its_cause() -> None:
    model = recurl.zoo.cloud(exits=1)
    (line,) = policy_words(recurl.Policy.uniform(model))["T"]
    assert line.endswith(" %), at random")
    best = recurl.solve(recurl.zoo.stack_matters()).policy
    assert best is not None
    lines = [line for lines in policy_words(best).values() for line in lines]
    assert any("depending on what the exits are worth" in line for line in lines)


def test_what_is_rare_is_not_told_as_never() -> None:
    best = recurl.solve(recurl.zoo.cloud()).policy  # upgrades deep down, which a few runs come to
    assert best is not None
    assert policy_words(best)["H"] == [
        "at u5: no (over 99 %) or yes (under 1 %), depending on what the exits are worth"
    ]


def test_what_is_left_out_is_counted() -> None:
    policy = recurl.solve(recurl.zoo.spelunking()).policy
    assert policy is not None
    words = policy_words(policy, most=3)
    assert sum(map(len, words.values())) == 3
    assert list(words)[-1].startswith("and at ")


def test_places_on_a_grid_are_told_by_row_and_column() -> None:
    policy = recurl.solve(recurl.zoo.battery()).policy
    assert policy is not None
    words = policy_words(policy)
    assert words["reserve"][0].startswith("in row 0, column 0")
    assert all(line.startswith("in row ") for lines in words.values() for line in lines)
    assert any(line.endswith(": south") for line in words["reserve"])


def test_vertices_that_are_the_same_place_are_told_once() -> None:
    policy = recurl.solve(recurl.zoo.spelunking()).policy
    assert policy is not None
    for lines in policy_words(policy).values():
        places = [line.partition(": ")[0] for line in lines]
        assert len(set(places)) == len(places)
