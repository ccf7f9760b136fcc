"""What a policy does, where runs under it have a choice."""

from __future__ import annotations

import pytest

from recurl.cli import choices as module
from recurl.cli.choices import choice_table, choices, explanation, explanation_data
from recurl.cli.output import show
from recurl.policy import Policy
from recurl.zoo import cloud, spelunking


def by_depth() -> Policy:
    """Divide; be fast in the first server, which is retried reliably; never upgrade."""
    model = cloud(exits=1)
    t = model.tables
    task, server, handler = range(3)
    components = [task, server, server, handler]
    first, again, handle = 1, 2, 3
    actions, callees = [], []
    for context, component in enumerate(components):
        for vertex in range(t.component_start[component], t.component_start[component + 1]):
            name = model.vertex_name(vertex)
            fast = name == "S.u3" and context == first
            actions.append(1 if fast or name == "T.u1" else 0)
            called = t.box_component[t.vertex_box[vertex]]
            outer = first if component == task else again
            callees.append({server: outer, handler: handle}.get(int(called), 0))
    return Policy(model, components, actions, callees=callees, start=[0])


def test_only_what_runs_come_to_is_listed() -> None:
    policy = Policy.stackless(cloud(), {"T.u1": "mono"})
    assert choices(policy) == {"T.u1": ["mono"]}
    policy = Policy.stackless(cloud(), {"T.u1": "divide", "S.u3": "fast"})
    assert choices(policy) == {"T.u1": ["divide"], "S.u3": ["fast"]}
    policy = Policy.stackless(cloud(), {"T.u1": "divide", "H.u5": "yes"})
    assert choices(policy) == {"T.u1": ["divide"], "S.u3": ["reliable"], "H.u5": ["yes"]}


def test_a_random_choice_goes_everywhere() -> None:
    found = choices(Policy.uniform(cloud()))
    assert found == {"T.u1": ["any"], "S.u3": ["any"], "H.u5": ["any"]}


def test_a_choice_may_depend_on_the_stack(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert choices(by_depth()) == {"T.u1": ["divide"], "S.u3": ["reliable", "fast"]}
    show(*choice_table(by_depth()))
    rule = "S.u3   fast with 0 pending calls of S, reliable from 1 on (in runs there are at most 1)"
    assert rule in capsys.readouterr().out


def test_many_choices_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.uniform(spelunking())
    found = choices(policy)
    assert found is not None
    show(*choice_table(policy))
    more = f"... and {len(found) - 20} more choices (all with --explain or --json)"
    assert more in capsys.readouterr().out
    monkeypatch.setattr(module, "LARGEST", 100)
    assert choices(policy) is None
    assert choice_table(policy) == []
    assert choices(None) is None


def test_an_explanation_lists_all_choices_or_the_contexts_of_a_vertex(
    capsys: pytest.CaptureFixture[str],
) -> None:
    policy = by_depth()
    show(*explanation(policy))
    text = capsys.readouterr().out
    assert "with 0 pending calls of S" in text
    assert "visits per run" in text
    show(*explanation(policy, ["S.u3", "H.u5"]))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["S.u3", "S", "fast", "3"] in lines
    assert ["S.u3", "S", "within", "1", "call", "of", "S", "reliable", "1.2"] in lines
    assert ["H.u5:", "no"] in lines  # its only action


def test_explanations_for_machines_carry_all_numbers() -> None:
    (rule,) = explanation_data(by_depth(), ["S.u3"])
    assert (
        rule["rule"]
        == "fast with 0 pending calls of S, reliable from 1 on (in runs there are at most 1)"
    )
    assert [clause["do"] for clause in rule["clauses"]] == ["fast", "reliable"]
    assert rule["clauses"][1]["contexts"] == ["S within 1 call of S"]
    assert rule["clauses"][1]["mean"] == pytest.approx(1.2)
    assert rule["clauses"][1]["margin"] is None
