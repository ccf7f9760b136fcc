"""The worth of an episode with little noise: what its choices gain over a known policy.

A stackless policy, the reference, is worth ``W(v, q) = R(q) + P(q) . v`` at a vertex q whose exits
are worth v: R is its expected reward until the component is left, P the probabilities of the exits.
An action gains

    g(v, q, a) = sum p (r + W after the step) - W(v, q)

over it, which is 0 for the reference's own action. The rewards of a run add up to W at its start
plus the gains of its choices plus noise of mean 0 (telescope W along the run). So the first two
have the same mean as the rewards, whatever policy is played, and differ between runs only as far as
choices differ from the reference. A run that is cut loses W where it stands.

Where choices differ much, gains may vary more than rewards. So tests subtract from the rewards the
share of the noise that makes them differ least: the noise is a control variate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recurl.model.rmdp import RMDP
from recurl.model.tables import CALLS, EXITS, Floats, Ints
from recurl.policy import Policy
from recurl.solving.api import solve
from recurl.solving.expectations import expectations
from recurl.solving.rows import rows_of_model, rows_of_policy


def policy_worth(policy: Policy) -> Floats:
    """R and P of a stackless policy, side by side, by vertex."""
    found = expectations(rows_of_policy(policy), everywhere=True)
    return np.column_stack([found.reward, found.leaving.value])


def action_gains(model: RMDP, worth: Floats) -> Floats:
    """Gains of all actions over a stackless policy of some worth: a constant, and by exit value.

    Args:
        model: The model.
        worth: R and P of the policy, see `policy_worth`.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.gambler(p=0.25)
        >>> action_gains(model, policy_worth(Policy.uniform(model))).shape
        (3, 2)
    """
    rows = rows_of_model(model.tables)
    after = np.zeros((len(rows.prob), worth.shape[1]))
    for i, (move, landing) in enumerate(zip(rows.move, rows.landing, strict=True)):
        if move == EXITS:
            after[i, 1 + landing] = 1
        elif move == CALLS:
            back = worth[rows.push[i] : rows.push[i] + rows.n_returns[i]]
            after[i] = worth[landing, 1 : 1 + len(back)] @ back
            after[i, 0] += worth[landing, 0]
        else:
            after[i] = worth[landing]
    after[:, 0] += rows.reward
    by_action = np.add.reduceat(rows.prob[:, None] * after, rows.transition_start[:-1])
    gains: Floats = by_action - worth[model.tables.action_vertex]
    return gains


def usual_actions(policy: Policy) -> Ints:
    """At every vertex the action that a policy takes there most often."""
    votes: dict[tuple[int, int], float] = {}
    for vertex, action in zip(policy.slot_vertex.tolist(), policy.actions.tolist(), strict=True):
        votes.setdefault((vertex, action), 0.0)
    visits = policy.visits.means
    for place, slot in enumerate(policy.reached.slot):
        votes[int(policy.slot_vertex[slot]), int(policy.actions[slot])] += float(visits[place])
    chosen = np.zeros(policy.model.tables.n_vertices, np.int32)
    for (vertex, action), _ in sorted(votes.items(), key=lambda item: item[1]):
        chosen[vertex] = max(action, 0)
    return chosen


class PlayedEpisode(NamedTuple):
    """The transitions of a test episode, and whether it ended by itself or was cut."""

    transitions: list[int]
    ended: bool


class Reference:
    """A stackless policy that episodes are compared with.

    Args:
        policy: The policy.

    Attributes:
        value: What it is worth.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.stack_matters()
        >>> round(Reference.usual(model).value, 6)
        -0.2
    """

    def __init__(self, policy: Policy) -> None:
        model = policy.model
        self._tables, self._worth = model.tables, policy_worth(policy)
        self._gains = action_gains(model, self._worth)
        t = self._tables
        self._action = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
        first = t.component_start[t.start_component]
        self.value = float(t.start_prob @ self._worth[first : first + len(t.start_prob), 0])

    @classmethod
    def usual(cls, model: RMDP) -> Reference:
        """The one with the usual actions of an optimal policy."""
        found = solve(model).policy
        assert found is not None
        return cls(Policy.stackless(model, usual_actions(found)))

    def worths(self, episodes: Sequence[PlayedEpisode]) -> Floats:
        """A number for each episode of a policy; their mean estimates what the policy is worth."""
        rewards = self._tables.reward
        returns = np.array([rewards[one.transitions].sum() for one in episodes])
        noise = returns - [self.total(one) for one in episodes]
        apart = noise - noise.mean()
        spread = float(apart @ apart)
        share = float(returns @ apart) / spread if spread > 0 else 1.0
        found: Floats = returns - share * noise
        return found

    def total(self, episode: PlayedEpisode) -> float:
        """W at the start plus the gains of an episode that begins there."""
        t, worth, gains = self._tables, self._worth, self._gains
        exits = np.zeros(worth.shape[1] - 1)
        stack: list[Floats] = []
        total, rest = self.value, 0.0
        for i in episode.transitions:
            gain = gains[self._action[i]]
            total += float(gain[0] + gain[1:] @ exits)
            landing = int(t.landing[i])
            if t.move[i] == EXITS:
                rest = float(exits[landing])
                exits = stack.pop() if stack else exits
                continue
            if t.move[i] == CALLS:
                stack.append(exits)
                exits = self._returns(int(t.move_box[i]), exits)
            rest = float(worth[landing, 0] + worth[landing, 1:] @ exits)
        return total if episode.ended else total - rest

    def _returns(self, box: int, exits: Floats) -> Floats:
        """Values of the exits of a call: those of the reference at its return ports."""
        t, found = self._tables, np.zeros_like(exits)
        first, count = int(t.box_return[box]), int(t.n_exits[t.box_component[box]])
        ports = self._worth[first : first + count]
        found[:count] = ports[:, 0] + ports[:, 1:] @ exits
        return found
