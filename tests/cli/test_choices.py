"""What a policy does, where runs under it have a choice."""

from __future__ import annotations

import pytest

from recurl.cli import choices as module
from recurl.cli.choices import choice_table, choices
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


def test_a_choice_may_depend_on_the_stack(capsys: pytest.CaptureFixture[str]) -> None:
    assert choices(by_depth()) == {"T.u1": ["divide"], "S.u3": ["reliable", "fast"]}
    show(*choice_table(by_depth()))
    assert "S.u3   reliable or fast: depends on the stack" in capsys.readouterr().out


def test_many_choices_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.uniform(spelunking())
    found = choices(policy)
    assert found is not None
    show(*choice_table(policy))
    assert f"... and {len(found) - 20} more choices (all with --json)" in capsys.readouterr().out
    monkeypatch.setattr(module, "LARGEST", 100)
    assert choices(policy) is None
    assert choice_table(policy) == []
    assert choices(None) is None
