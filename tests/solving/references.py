"""Slow and plain ways to the same numbers, and models that tests share."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

import recurl
from recurl.model.tables import CALL, CALLS, EXIT, EXITS, STEP, Layout


def cubic() -> recurl.RMDP:
    """Ends with probability (sqrt(5) - 1) / 2: x = 1/2 + x^3 / 2."""
    builder = recurl.Builder("cubic").component("A", entries="in", exits="out")
    builder.box("a", "A").box("b", "A").box("c", "A")
    builder.at("in").action("flip", reward=1).to("out", "1/2").to("a", "1/2")
    for box, after in (("a", "b"), ("b", "c"), ("c", "out")):
        builder.at(f"{box}.out").action("next").to(after)
    return builder.build()


def looping() -> recurl.RMDP:
    """Calls itself with 2/3 each round, else returns: ends with probability 1/2."""
    builder = recurl.Builder("looping").component("A", entries="in", exits="out").box("a", "A")
    for vertex in ("in", "a.out"):
        builder.at(vertex).action("flip").to("out", "1/3").to("a", "2/3")
    return builder.build()


def stop_or_bet(p: str = "3/5") -> recurl.RMDP:
    """Stop at once, or call oneself twice with probability p."""
    return (
        recurl.Builder("stop_or_bet")
        .component("A", entries="in", exits="out").box("a", "A").box("b", "A")
        .at("in").action("stop", reward=1).to("out")
                 .action("bet", reward=1).to("a", p).to("out", 1 - Fraction(p))
        .at("a.out").action("next", reward=1).to("b")
        .at("b.out").action("up", reward=1).to("out")
        .build()
    )  # fmt: skip


def small_model(seed: int, kind: str = "general", **options: object) -> recurl.RMDP:
    """A random model that is small enough for the ways below."""
    settings: dict[str, object] = {"exit_probability": 0.4, "load": 0.8, **options}
    return recurl.zoo.random_model(seed, components=2, nodes=3, kind=kind, **settings)


def stackless_choices(model: recurl.RMDP) -> np.ndarray:
    """All stackless policies: a row of actions for each."""
    counts = [range(max(count, 1)) for count in np.diff(model.tables.action_start)]
    return np.array(list(itertools.product(*counts)))


def _flows(model: recurl.RMDP, choices: np.ndarray) -> np.ndarray:
    """Where actions lead to, a matrix for each policy; rows of call ports and exits are 0."""
    t = model.tables
    flows = np.zeros((len(choices), t.n_vertices, t.n_vertices))
    for v in np.flatnonzero(np.diff(t.action_start)):
        first = t.action_start[v]
        for a in range(first, t.action_start[v + 1]):
            for i in range(t.transition_start[a], t.transition_start[a + 1]):
                flows[choices[:, v] == a - first, v, t.target[i]] += t.prob[i]
    return flows


def _calls(model: recurl.RMDP) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Call ports of a 1-exit model, the entries that they lead to, and their return ports."""
    t = model.tables
    ports = np.flatnonzero(t.vertex_kind == CALL)
    return ports, t.entry_of_call(ports), t.box_return[t.vertex_box[ports]]


def _from_start(model: recurl.RMDP, x: np.ndarray) -> np.ndarray:
    t = model.tables
    return x[:, t.starts] @ t.start_prob[t.start_prob > 0]


def stackless_steps(model: recurl.RMDP, choices: np.ndarray) -> np.ndarray:
    """Expected steps of policies in a 1-exit model, infinite where the equations have no answer."""
    t, flows = model.tables, _flows(model, choices)
    ports, entries, returns = _calls(model)
    flows[:, ports, entries] += 1
    flows[:, ports, returns] += 1
    once = (np.diff(t.action_start) > 0).astype(float)
    unit = np.eye(t.n_vertices)
    x = np.linalg.solve(unit - flows, np.broadcast_to(once[:, None], (*flows.shape[:2], 1)))[..., 0]
    visited = np.linalg.matrix_power(unit + flows, t.n_vertices)[:, t.starts].any(axis=1)
    endless = ((x < 0) & visited).any(axis=1)
    return np.where(endless, np.inf, _from_start(model, x))


def stackless_ends(model: recurl.RMDP, choices: np.ndarray) -> np.ndarray:
    """How probably policies end in a 1-exit model, by Newton's method from below."""
    t, flows = model.tables, _flows(model, choices)
    ports, entries, returns = _calls(model)
    unit, x = np.eye(t.n_vertices), np.zeros((len(choices), t.n_vertices))
    for _ in range(100):
        image = np.einsum("pij,pj->pi", flows, x)
        image[:, ports] = x[:, entries] * x[:, returns]
        image[:, t.vertex_kind == EXIT] = 1
        slope = flows.copy()
        slope[:, ports, entries] += x[:, returns]
        slope[:, ports, returns] += x[:, entries]
        # A little less than the slope: what stays in a circle leaves no equation without an answer.
        x += np.linalg.solve(unit - (1 - 1e-9) * slope, (image - x)[..., None])[..., 0]
    return _from_start(model, x)


def random_policy(model: recurl.RMDP, seed: int, contexts: int = 1) -> recurl.Policy:
    """A policy with so many contexts per component, everything drawn at random, -1 included."""
    random, t = np.random.default_rng(seed), model.tables
    component = np.repeat(np.arange(t.n_components), contexts)
    vertex = np.concatenate([np.arange(*t.component_start[c : c + 2]) for c in component])
    count = np.diff(t.action_start)[vertex]
    actions = random.integers(-1, np.maximum(count, 1))
    called = t.box_component[t.vertex_box[vertex]]
    callees = np.where(t.vertex_kind[vertex] == CALL, called * contexts, 0)
    callees += np.where(
        t.vertex_kind[vertex] == CALL, random.integers(contexts, size=len(vertex)), 0
    )
    start = t.start_component * contexts + random.integers(contexts, size=len(t.start_prob))
    return recurl.Policy(model, component, actions, callees=callees, start=start)


def product_model(policy: recurl.Policy) -> recurl.RMDP:
    """The model with one component per context, in which every action is still there."""
    t = policy.model.tables
    boxes = [np.flatnonzero(t.box_owner == c) for c in policy.context_component]
    first = np.cumsum([0, *map(len, boxes)])
    callee = []
    for context, own in enumerate(boxes):
        shift = policy.context_start[context] - t.component_start[policy.context_component[context]]
        callee += [policy.callees[t.box_call[b] + shift] for b in own]
    component = policy.context_component
    count = [np.sum((t.vertex_component == c) & (t.vertex_box < 0)) for c in component]
    nodes = np.array(count) - t.n_entries[component] - t.n_exits[component]
    layout = Layout.of(
        t.n_entries[component],
        t.n_exits[component],
        nodes,
        box_owner=np.repeat(np.arange(len(component)), np.diff(first)),
        box_component=callee,
    )
    vertex = policy.slot_vertex
    actions = [np.arange(*t.action_start[v : v + 2]) for v in vertex]
    taken = np.concatenate(actions)
    transitions = [np.arange(*t.transition_start[a : a + 2]) for a in taken]
    flat = np.concatenate(transitions)
    slot_of = np.repeat(np.repeat(np.arange(len(vertex)), [len(a) for a in actions]),
                        [len(i) for i in transitions])  # fmt: skip
    start = np.zeros(int(t.n_entries[t.start_component]))
    start[:] = t.start_prob
    return recurl.RMDP.from_arrays(
        layout,
        action_start=np.cumsum([0, *map(len, actions)]),
        transition_start=np.cumsum([0, *map(len, transitions)]),
        target=t.target[flat] - vertex[slot_of] + slot_of,
        prob=t.prob[flat],
        reward=t.reward[flat],
        start_component=int(policy.start[0]),
        start_prob=start,
    )


def iterate(
    policy: recurl.Policy, rounds: int = 3000, leave: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leave probabilities, steps and rewards of a stackless policy by plain iteration from 0."""
    t = policy.model.tables
    n = t.n_vertices
    leave = np.zeros((n, t.max_exits)) if leave is None else leave
    steps, reward = np.zeros(n), np.zeros(n)
    for _ in range(rounds):
        before = leave.sum() + steps.sum() + np.abs(reward).sum()
        for v in range(n):
            if t.vertex_kind[v] not in (EXIT, CALL):
                leave[v], steps[v], reward[v] = _expect(policy, v, leave, steps, reward)
        if leave.sum() + steps.sum() + np.abs(reward).sum() == before:
            break
    return leave, steps, reward


def _expect(
    policy: recurl.Policy, v: int, leave: np.ndarray, steps: np.ndarray, reward: np.ndarray
) -> tuple[np.ndarray, float, float]:
    t = policy.model.tables
    available = range(t.action_start[v], t.action_start[v + 1])
    chosen = policy.action(v)
    actions = available if chosen < 0 else [available[chosen]]
    total_leave, total_steps, total_reward = np.zeros(t.max_exits), 1.0, 0.0
    for a in actions:
        for i in range(t.transition_start[a], t.transition_start[a + 1]):
            p, at = t.prob[i] / len(actions), t.landing[i]
            total_reward += p * t.reward[i]
            if t.move[i] == EXITS:
                total_leave[at] += p
            else:
                total_steps += p * steps[at]
                total_reward += p * reward[at]
            if t.move[i] == STEP:
                total_leave += p * leave[at]
            if t.move[i] == CALLS:
                box = t.move_box[i]
                for k in range(t.n_exits[t.box_component[box]]):
                    back = t.box_return[box] + k
                    total_leave += p * leave[at, k] * leave[back]
                    total_steps += p * leave[at, k] * steps[back]
                    total_reward += p * leave[at, k] * reward[back]
    return total_leave, total_steps, total_reward


def broken_step_bounds(model: recurl.RMDP, d: np.ndarray) -> list[str]:
    """Places at which step bounds break their inequalities, in exact arithmetic."""
    t, exact = model.tables, [Fraction(float(x)) for x in d]
    first_exit = t.component_start[:-1] + t.n_entries
    broken = [f"component {c}: no exit at 0" for c in range(t.n_components)
              if all(exact[first_exit[c] + k] for k in range(t.n_exits[c]))]  # fmt: skip
    broken += [f"{v}: negative" for v in range(t.n_vertices) if exact[v] < 0]
    for a, v in enumerate(t.action_vertex):
        row = range(t.transition_start[a], t.transition_start[a + 1])
        if exact[v] < 1 + sum(model.exact.prob(i) * exact[t.target[i]] for i in row):
            broken.append(f"{v}: action {a}")
    for v in np.flatnonzero(t.vertex_kind == CALL):
        box = t.vertex_box[v]
        c = t.box_component[box]
        entry = t.component_start[c] + t.vertex_port[v]
        back = max(
            exact[t.box_return[box] + k] - exact[first_exit[c] + k] for k in range(t.n_exits[c])
        )
        if exact[v] < exact[entry] + back:
            broken.append(f"{v}: call")
    return broken


def retry_client(lost: float = -9.0) -> recurl.RMDP:
    """A client that may retry or give up, of a service that may wait; not proper, two exits."""
    return (
        recurl.Builder("client")
        .component("Client", entries="in", exits=["shown", "lost"]).box("get", "Fetch")
        .at("in").action("ask", reward=-1).to("get")
        .at("get.ok").action("show").to("shown")
        .at("get.failed").action("retry", reward=-1).to("get")
                         .action("give up", reward=lost).to("lost")
        .component("Fetch", entries="in", exits=["ok", "failed"])
        .at("in").action("try", reward=-1).to("ok", "0.6").to("failed", "0.4")
                 .action("wait", reward=-1).to("room")
        .at("room").action("wait", reward=-1).to("room")
                   .action("try", reward=-1).to("ok", "0.7").to("failed", "0.3")
        .build("Client")
    )  # fmt: skip


def nested_retries() -> recurl.RMDP:
    """Recursive, two exits, not proper: calls that may fail are made again, or given up."""
    return (
        recurl.Builder("nested")
        .component("C", entries="in", exits=["ok", "fail"]).box("one", "C").box("two", "C")
        .at("in").action("try", reward=-1).to("ok", "0.7").to("one", "0.3")
                 .action("give up", reward=-3).to("fail").action("ask", reward="-0.01").to("one")
        .at("one.ok").action("on", reward="-0.1").to("two")
        .at("one.fail").action("retry", reward="-0.2").to("one").action("give up").to("fail")
        .at("two.ok").action("done").to("ok")
        .at("two.fail").action("again", reward="-0.1").to("two")
                       .action("up", reward=-2).to("fail")
        .build("C")
    )  # fmt: skip


def stuck() -> recurl.RMDP:
    """No exit can be reached, and every step costs."""
    return (
        recurl.Builder("stuck")
        .component("A", entries="in", exits="out")
        .at("in").action("a", reward=-1).to("n").action("b", reward=-2).to("n")
        .at("n").action("a", reward=-1).to("n").action("b", reward=-3).to("n")
        .build()
    )  # fmt: skip
