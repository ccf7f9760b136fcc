"""A population with harvest, as a branching decision process."""

from __future__ import annotations

from recurl.grammar.grammar import Alternative, Grammar
from recurl.grammar.model import model_of
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.values import between, number


def harvest(survival: Number = 0.7, *, litter: Number = 0.6, roe: Number = 0.3) -> RMDP:
    """Harvest a fish at once, or let it breed, sell the roe and harvest what comes of it.

    A young fish grows up with probability `survival`. A grown one is harvested for 1, which is its
    end; or it breeds, which is its end too: the roe pays, and with probability `litter` two young
    ones come of it.

    With m = 2 survival litter, a grown fish is worth max(1, roe / (1 - m)), which is **1.875** with
    the defaults: breeding pays.

    Args:
        survival: Probability of a young fish to grow up, in (0, 1).
        litter: Probability of young ones, in (0, 1); with m < 1 the population dies out.
        roe: Reward of the roe.

    Example:
        >>> harvest()
        <RMDP harvest: 2 components, 10 vertices, 1-exit, recursive>
    """
    p, q = between("survival", survival, 0, 1), between("litter", litter, 0, 1)
    paid = number("roe", roe)
    rules: dict[str, dict[str, list[str | Alternative]]] = {
        "grown": {
            "harvest": ["{1}"],
            "breed": [
                Alternative(("young", "young"), q, paid),
                Alternative((), 1 - q, paid),
            ],
        },
        "young": {"": [Alternative(("grown",), p), Alternative((), 1 - p)]},
    }
    return model_of(Grammar("harvest", rules))
