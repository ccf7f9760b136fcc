"""The choices of a policy as a table: where, in which context, which action, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recurl.model import html
from recurl.model.text_tables import markdown_table, text_of
from recurl.model.text_tables import table as rich_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from recurl.policy.policy import Policy
    from recurl.policy.rules import PolicyRule
    from recurl.policy.visits import Count

SHOWN = 20
"""Rows that are shown; more are counted."""

HEAD = ("at", "context", "do", "visits per run")


@dataclass(frozen=True)
class PolicyRow:
    """One line of a table.

    Attributes:
        vertex: Full name of the vertex.
        place: The same with the label of the vertex, where it has one.
        context: In which contexts, in words; empty for all that runs get to.
        action: Name of the action.
        visits: How often a run gets there.
    """

    vertex: str
    place: str
    context: str
    action: str
    visits: Count

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The texts of the line."""
        return self.place, self.context or "any", self.action, str(self.visits)


class PolicyTable(Sequence[PolicyRow]):
    """The choices of a policy, those that a run comes to most often first.

    It prints as text, shows as HTML in notebooks, and is a sequence of `PolicyRow`.

    Args:
        policy: The policy.
        vertices: Names of the vertices to list; if none are given, all with a choice.
        merged: Whether contexts with the same action are one row; else each has its own.

    Example:
        >>> import recurl
        >>> policy = recurl.Policy.stackless(recurl.zoo.gambler(p=0.25), {})
        >>> print(PolicyTable(policy, ["W.in"]).to_markdown())
        | at | context | do | visits per run |
        | --- | --- | --- | ---: |
        | W.in | any | bet | 2 |
    """

    def __init__(
        self, policy: Policy, vertices: Sequence[str | int] = (), *, merged: bool = True
    ) -> None:
        self.sampled, self.cut = policy.visits.sampled, policy.visits.cut
        chosen = policy.rules.all() if not vertices else [policy.rules.at(v) for v in vertices]
        rows = (row for rule in chosen for row in _rows(policy, rule, merged))
        self._rows = sorted(rows, key=lambda row: -row.visits.mean)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __rich__(self) -> Table:
        return self.rich()

    def rich(self, most: int | None = SHOWN) -> Table:
        """A table for the terminal, with a limited number of rows."""
        made = rich_table(*HEAD, rows=[row.cells for row in self._rows[:most]], numbers=HEAD[3:])
        made.caption, made.caption_justify = self._caption(most), "left"
        return made

    def __str__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        shown = html.table(HEAD, [row.cells for row in self._rows[:SHOWN]])
        caption = self._caption(SHOWN)
        return shown + (html.paragraph(caption) if caption else "")

    def to_markdown(self) -> str:
        """All rows as a table in Markdown."""
        return markdown_table(HEAD, (row.cells for row in self._rows), numbers=HEAD[3:])

    def to_frame(self) -> pd.DataFrame:
        """All rows as a data frame; needs pandas."""
        import pandas as pd

        rows = [(r.vertex, r.context, r.action, *r.visits) for r in self._rows]
        return pd.DataFrame(rows, columns=["vertex", "context", "action", "visits", "margin"])

    def _caption(self, most: int | None) -> str:
        parts = []
        if most is not None and len(self) > most:
            parts.append(f"... and {len(self) - most:,} more rows")
        if not self._rows:
            parts.append("runs have no choice to make")
        if self.sampled and self._rows:
            cut = f", of which {self.cut:.1%} were cut" if self.cut else ""
            parts.append(f"visits are sampled, ± two standard errors{cut}")
        return "; ".join(parts)


def _rows(policy: Policy, rule: PolicyRule, merged: bool) -> Iterator[PolicyRow]:
    """The rows of a rule."""
    for clause in rule.clauses:
        if merged:
            visits = policy.visits.at(clause.places)
            yield PolicyRow(rule.vertex, rule.place, clause.when.text, clause.action, visits)
            continue
        by_context: dict[int, list[int]] = {x: [] for x in clause.contexts}
        for place in clause.places:
            by_context[policy.reached.contexts[policy.reached.frame[place]]].append(place)
        for x, places in by_context.items():
            name = policy.context_names[x]
            visits = policy.visits.at(places)
            yield PolicyRow(rule.vertex, rule.place, name, clause.action, visits)
