from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import matplotlib as mpl
import pytest

import recurl
from recurl.model.cells import DIRECTIONS, Cells
from recurl.policy.grid_plot import ActionGrid, grids_of

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@cache
def best(model: recurl.RMDP) -> recurl.Policy:
    policy = recurl.solve(model).policy
    assert policy is not None
    return policy


def grids(policy: recurl.Policy) -> list[ActionGrid]:
    cells = Cells.of(policy.model)
    assert cells is not None
    return grids_of(policy, cells)


def test_arrows_lead_along_the_best_way() -> None:
    found = grids(best(recurl.zoo.battery()))
    unit = found[0].actions
    assert unit == {(2, 0): "stay", (2, 1): "east", (2, 2): "north", (1, 2): "east"}
    by_charge = {grid.rest: grid.actions for grid in found if len(grid.actions) == 1}
    assert by_charge[(("reserve", 2.0),)] == {(0, 0): "south"}


def test_contexts_that_act_differently_have_grids_of_their_own() -> None:
    found = grids(best(recurl.zoo.battery()))
    on_charger = [g for g in found if g.rest == () and (2, 0) in g.actions]
    assert {g.actions[2, 0] for g in on_charger} == {"stay", "east"}
    captions = [axes.get_title() for axes in best(recurl.zoo.battery()).plot()]
    assert any("unit within 3 calls of unit" in caption for caption in captions)


def test_visits_are_those_of_the_policy() -> None:
    policy = best(recurl.zoo.spelunking())
    found = grids(policy)
    assert sum(grid.total for grid in found) == pytest.approx(policy.visits.means.sum())
    assert [grid.total for grid in found] == sorted((g.total for g in found), reverse=True)


def test_as_many_grids_are_drawn_as_asked_for_and_the_rest_is_counted() -> None:
    policy = best(recurl.zoo.spelunking())
    axes = policy.plot(most=4, maps={"level0": "oxo/oxo/oxo"})
    assert len(axes) == 4
    figure = axes[0].figure
    assert "more grids" in figure.get_supxlabel()  # type: ignore[union-attr]
    assert axes[0].get_title().startswith("level0\ngear 1, landing in row 0, column 2\n")
    assert sum(text.get_text() == "x" for text in axes[0].texts) == 3


def test_moves_are_arrows_and_other_actions_words() -> None:
    policy = best(recurl.zoo.palindrome())
    axes = policy.plot(most=1)[0]
    drawn = grids(policy)[0].actions
    arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    assert len(arrows) == sum(action in DIRECTIONS for action in drawn.values())
    assert "special" in {text.get_text() for text in axes.texts}
    assert "goal" in {text.get_text() for text in axes.texts}


def test_a_uniform_policy_does_anything() -> None:
    policy = recurl.Policy.uniform(recurl.zoo.palindrome(size=2))
    assert set(grids(policy)[0].actions.values()) == {"any"}


def test_a_model_without_a_grid_is_refused_with_what_draws_it() -> None:
    with pytest.raises(ValueError, match=r"model\.draw\(policy\) draws any model"):
        recurl.Policy.uniform(recurl.zoo.cloud()).plot()
    with pytest.raises(ValueError, match="not 0"):
        recurl.Policy.uniform(recurl.zoo.palindrome()).plot(most=0)
