"""Policies: an action for every vertex, in every context that the run can be in.

One form serves all. A policy has finitely many *contexts*. Each belongs to a component, gives an
action to every vertex of it, and names, for every call port, the context in which the component
called is run; on return the caller's context is resumed.

- *Stackless*: one context per component, so that only the vertex matters.
- *By context*: one per exit-value vector met, as Recursive Q-learning finds them.
- *By pieces*: one per piece of a certified lower bound, pieces referring to pieces.

`Policy` is in `recurl.policy.policy`; the places that its runs reach are in `reached`, their
expected visits in `visits`, its choices as readable rules in `rules` and as a table in `table`;
`merged` leaves out contexts that choose like others.
"""

from recurl.policy.policy import RANDOM, Policy

__all__ = ["RANDOM", "Policy"]
