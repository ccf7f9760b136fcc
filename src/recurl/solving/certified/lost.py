"""Places that may never be left: there, a search may give up at a price.

Where not ending costs infinitely much, a place from which no policy is known to end has no finite
lower bound, although the best policies may never come there. The search is made on the model with
one more action at each of these places: pay a price, and leave by the first exit. It has all the
policies of the model, so its upper bounds hold; a policy that does not give up is one of the model.
If the price is high enough, the best policy does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import Floats, Ints, Mask, Tables

if TYPE_CHECKING:
    from recurl.solving.certified.lower import Lower

PRICES = (2.0**6, 2.0**12, 2.0**20)
"""Prices in units of what runs cost, tried in order until the best policy does not give up."""


def with_way_out(t: Tables, lost: Mask) -> Tables:
    """The same model with one more action, the last one, at some of its states.

    It leaves by the first exit of the component. Rewards are left out: a search has its own.

    Example:
        >>> import recurl
        >>> t = recurl.zoo.cloud().tables
        >>> more = with_way_out(t, t.states)
        >>> more.n_actions - t.n_actions == t.states.sum()
        np.True_
    """
    places = np.flatnonzero(lost)
    owner = t.vertex_component[places]
    action = t.action_start[places + 1]
    move = t.transition_start[action]
    count = np.insert(np.diff(t.transition_start), action, 1)
    return Tables.of(
        t.layout,
        action_start=np.append(0, np.cumsum(np.diff(t.action_start) + lost)),
        transition_start=np.append(0, np.cumsum(count)),
        target=np.insert(t.target, move, t.component_start[owner] + t.n_entries[owner]),
        prob=np.insert(t.prob, move, 1.0),
        reward=np.zeros(t.n_transitions + len(places)),
        start_component=t.start_component,
        start_prob=t.start_prob,
    )


def paying(t: Tables, lost: Mask, gain: Floats, price: float) -> Floats:
    """Expected rewards of all actions, with the price of the additional ones."""
    return np.insert(gain, t.action_start[1:][lost], -price)


def leaving(t: Tables, lost: Mask, actions: Ints) -> Ints:
    """Actions by vertex, counted within it, with the additional ones at lost places."""
    return np.where(lost, np.diff(t.action_start), actions).astype(np.int32)


def giving_up(lower: Lower) -> Mask:
    """Slots from which the policy of pieces may give up.

    Giving up is found as if it were one more exit, which leaves all components at once.
    """
    ctx, lost = lower.contexts, lower.contexts.problem.lost
    if lost is None:
        return np.zeros(int(ctx.base[-1]), np.bool_)
    reached = np.column_stack([ctx.only_exits(), np.zeros(int(ctx.base[-1]))])
    for c, part in enumerate(ctx.parts):
        own = np.flatnonzero(lost[part.first + part.states])
        last = np.append(part.begin, len(part.gain))[own + 1] - 1
        ctx.view(reached, c)[part.states[own], :, -1] = lower.action[c][own] == last[:, None]
    given = reached[ctx.state_slots, -1] > 0
    before = -1
    while (now := int(reached.sum())) != before:
        before = now
        after = (lower.moves @ reached > 0) & ~given[:, None]
        reached[ctx.state_slots] = np.maximum(reached[ctx.state_slots], after)
        inner = reached[lower.called]
        through = np.where(ctx.call_inside, inner[:, :-1], 0.0)
        calls = np.einsum("cj,cjk->ck", through, reached[ctx.call_returns]) > 0
        calls[:, -1] |= inner[:, -1] > 0
        reached[ctx.call_slots] = np.maximum(reached[ctx.call_slots], calls)
    return reached[:, -1] > 0
