"""Machines as YAML.

```yaml
machine:
  start: up                 # else the state of the first rule
  stack: bottom             # topmost first
  final: done
  labels: [a, b]            # else those that the rules read
  exclusive: [[a, b]]       # at most one of each group is true at a time
  otherwise: stay           # or stop: what labels do that no rule reads
  first_match: false        # or true: guards may overlap, and the first that holds applies
  rules:
    - {from: up, read: a, push: A _}
    - {from: up, to: done, read: b, top: A, push: "", reward: 1}
    - {from: up, to: down, choice: middle}     # nothing is read: an epsilon move
```

Or from a grammar, as in documents of grammars, with `end: LABEL`, `accept: 1`, `reject: 0`,
`conflicts: agent` and `method: lr1` next to it where wanted; see `machine_of`.
"""

from __future__ import annotations

from recurl.automaton.from_grammar import machine_of
from recurl.automaton.machine import Machine, Rule, rule
from recurl.errors import ModelError, RecurlError
from recurl.grammar.document import read_grammar
from recurl.model.document.pieces import TreePieces
from recurl.model.document.tree import Tree
from recurl.model.report import KeyPath, Report

KEYS = (
    "name", "start", "stack", "final", "labels", "exclusive", "otherwise", "first_match", "rules",
)  # fmt: skip
RULE_KEYS = ("from", "read", "top", "to", "push", "reward", "choice")
GRAMMAR_KEYS = ("name", "start", "terminals", "grammar")
READING_KEYS = ("end", "accept", "reject", "conflicts", "method")


def read_machine(tree: Tree, pieces: TreePieces, path: KeyPath) -> Machine | None:
    """The machine in a tree; None if something is wrong, which is reported."""
    if isinstance(tree, dict) and "grammar" in tree:
        return _from_grammar(tree, pieces, path)
    fields = pieces.fields(tree, path, KEYS)
    text = {k: pieces.text(fields[k], (*path, k)) for k in ("otherwise",) if k in fields}
    words = {
        k: pieces.words(fields[k], (*path, k)) for k in ("stack", "final", "labels") if k in fields
    }
    groups = pieces.list(fields.get("exclusive", []), (*path, "exclusive"))
    rows = pieces.list(fields.get("rules", []), (*path, "rules"))
    rules = [_rule(row, pieces, (*path, "rules", i)) for i, row in enumerate(rows)]
    start = pieces.text(fields["start"], (*path, "start")) if "start" in fields else None
    exclusive = [pieces.words(g, (*path, "exclusive", i)) for i, g in enumerate(groups)]
    name = pieces.text(fields.get("name", "machine"), (*path, "name"))
    first_match = pieces.truth(fields.get("first_match", "false"), (*path, "first_match"))
    if pieces.report.problems:
        return None
    found = [r for r in rules if r is not None]
    try:
        return Machine(
            name,
            found,
            start,
            exclusive=exclusive,
            first_match=first_match,
            **words,  # type: ignore[arg-type]
            **text,
        )
    except ModelError as error:
        for problem in error.problems:
            pieces.report.add((*path, *problem.path), problem.message, problem.fix)
        return None


def _rule(tree: Tree, pieces: TreePieces, path: KeyPath) -> Rule | None:
    fields = pieces.fields(tree, path, RULE_KEYS)
    if "from" not in fields:
        pieces.report.add(path, "has no `from`", "write from: STATE")
        return None
    text = {k: pieces.text(v, (*path, k)) for k, v in fields.items() if k != "push"}
    push = pieces.words(fields["push"], (*path, "push")) if "push" in fields else "_"
    source = text.pop("from")
    target, guard = text.pop("to", source), text.pop("read", None)
    try:
        return rule(source, guard, target, push=push, **text)
    except ValueError as error:
        pieces.report.add(path, str(error), "correct the rule")
        return None


def _from_grammar(tree: Tree, pieces: TreePieces, path: KeyPath) -> Machine | None:
    fields = pieces.fields(tree, path, (*GRAMMAR_KEYS, *READING_KEYS))
    text = {k: pieces.text(fields[k], (*path, k)) for k in READING_KEYS if k in fields}
    if pieces.report.problems:
        return None
    kept = {k: fields[k] for k in GRAMMAR_KEYS if k in fields}
    try:
        return machine_of(read_grammar(kept, Report()), text.pop("end", None), **text)
    except ModelError as error:
        for problem in error.problems:
            where = problem.path if problem.path[:1] == ("grammar",) else ("grammar",)
            pieces.report.add((*path, *where), problem.message, problem.fix)
    except (ValueError, RecurlError) as error:
        pieces.report.add(path, str(error), "correct it")
    return None
