"""Counts, contexts and the place of a run, as a checkpoint keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.learn.checkpoint import expect
from recurl.learn.model_based.contexts import Context
from recurl.learn.model_based.counts import CALL, END, EXIT, STEP, OutcomeCounts
from recurl.learn.model_based.estimate import Estimate
from recurl.learn.numbering import decode_key, encode_key

if TYPE_CHECKING:
    from recurl.learn.model_based.engine import ModelBasedEngine

_MOST = 2**62
_NUMBERS = ("steps", "episodes", "cut", "next_plan", "plans")


def header_of(engine: ModelBasedEngine) -> dict[str, Any]:
    """The text part of a checkpoint: names of states, numbers of the run, and its place."""
    counts, model = engine.counts, engine.model
    subject = f"an environment with {counts.spaces}" if model is None else model.fingerprint
    run = None if engine._state is None else engine.model_run
    return {
        "subject": subject,
        "states": [encode_key(key) for key in counts.states],
        "root_states": sorted(counts.root_states),
        "run": [getattr(engine, name) for name in _NUMBERS],
        "tally": [*engine.tally, engine._length, engine._return],
        "earnings": engine.planner.beliefs.earnings,
        "place": None if run is None else run.place(),
        "pending": [] if run is None else [box for box, _ in engine._stack],
    }


def arrays_of(engine: ModelBasedEngine) -> dict[str, np.ndarray]:
    """Counts and contexts."""
    counts = engine.counts
    found = {
        name: np.array(getattr(counts, name), np.int64)
        for name in ("pair_state", "pair_action", "owner", "kind", "target", "box", "count")
    }
    found["box_entry"] = np.array(counts.entries, np.int64)
    found["box_exits"] = np.array([len(after) for after in counts.after], np.int64)
    found["box_after"] = np.array([s for after in counts.after for s in after], np.int64)
    found["starts"] = np.array(list(counts.starts.items()), np.int64).reshape(-1, 2)
    found["outcome_reward"] = np.array(counts.reward, np.float64)
    found["outcome_paid"] = np.array(counts.paid, np.float64)
    found["rewards"] = engine.rewards
    estimate = _estimate(engine.planner.beliefs.estimate)
    return found | estimate | _contexts(engine.planner.contexts)


def _estimate(estimate: Estimate) -> dict[str, np.ndarray]:
    more = [(pair, like) for pair, (like, _) in estimate.more.items()]
    return {
        "estimate_weight": np.array(estimate.weight, np.float64),
        "estimate_hope": np.array(estimate.hope, np.float64),
        "estimate_more": np.array(more, np.int64).reshape(-1, 2),
        "estimate_times": np.array([t for _, t in estimate.more.values()], np.float64),
    }


def _contexts(contexts: list[Context]) -> dict[str, np.ndarray]:
    number = {id(context): i for i, context in enumerate(contexts)}
    children = [
        (i, box, number[id(child)])
        for i, context in enumerate(contexts)
        for box, child in context.children.items()
    ]
    values = [(i, s) for i, context in enumerate(contexts) for s in context.values]
    return {
        "context_state": np.array([c.state for c in contexts], np.int64),
        "context_visited": np.array([c.visited for c in contexts], np.int64),
        "context_width": np.array([len(c.worth) for c in contexts], np.int64),
        "context_worth": np.array([w for c in contexts for w in c.worth], np.float64),
        "context_children": np.array(children, np.int64).reshape(-1, 3),
        "context_places": np.array(values, np.int64).reshape(-1, 2),
        "context_values": np.array([v for c in contexts for v in c.values.values()], np.float64),
    }


def restore(
    engine: ModelBasedEngine, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Take over what a checkpoint kept; a run in an environment begins a new episode.

    Raises:
        ValueError: The numbers do not make a run.
    """
    _restore_counts(engine.counts, header, arrays)
    engine.planner.contexts = _restored_contexts(engine.counts, arrays)
    engine.planner.beliefs.estimate = _restored_estimate(engine.counts, arrays)
    for name, value in zip(_NUMBERS, header["run"], strict=True):
        setattr(engine, name, int(value))
    ended, total, length, earned = header["tally"]
    engine.tally, engine._length, engine._return = (int(ended), float(total)), int(length), earned
    engine.planner.beliefs.earnings = float(header["earnings"])
    engine.rewards = expect(arrays, "rewards", np.float64, -np.inf, np.inf)
    if engine.rewards.shape != (3,):
        raise ValueError("there must be three rewards")
    if header["place"] is not None and engine.model_run is not None:
        engine.model_run.resume(header["place"])
        engine._state = engine.counts.states[header["place"]["vertex"]]
        visited = [context.visited for context in engine.planner.contexts]
        engine._return_to([int(box) for box in header["pending"]])
        for context, flag in zip(engine.planner.contexts, visited, strict=True):
            context.visited = flag


def _restore_counts(
    counts: OutcomeCounts, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    for text in header["states"]:
        counts.add_state(decode_key(text))
    keys = list(counts.states)
    for state in map(int, header.get("root_states", ())):
        if not 0 <= state < len(keys) or not isinstance(keys[state], tuple):
            raise ValueError("a state of the outermost call is not one")
        counts.root_states.add(state)
    last = len(counts.states) - 1
    after = expect(arrays, "box_after", np.int64, 0, last).tolist()
    ends = np.cumsum(expect(arrays, "box_exits", np.int64, 1, max(len(after), 1))).tolist()
    entries = expect(arrays, "box_entry", np.int64, 0, last).tolist()
    for begin, end, entry in zip([0, *ends], ends, entries, strict=False):
        counts.find_box(after[begin:end], entry)
    for state, often in expect(arrays, "starts", np.int64, 0, _MOST).tolist():
        counts.begin(state)
        counts.starts[state] = often
    states = expect(arrays, "pair_state", np.int64, 0, last).tolist()
    actions = expect(arrays, "pair_action", np.int64, -_MOST, _MOST).tolist()
    for state, action in zip(states, actions, strict=True):
        counts.add_pair(state, action)
    _restore_outcomes(counts, arrays)


def _restore_outcomes(counts: OutcomeCounts, arrays: dict[str, np.ndarray]) -> None:
    bounds = {
        "owner": (0, len(counts.tried) - 1),
        "kind": (STEP, END),
        "target": (0, max(len(counts.states) - 1, 0)),
        "box": (-1, len(counts.after) - 1),
        "count": (1, _MOST),
    }
    columns = [expect(arrays, name, np.int64, *ends).tolist() for name, ends in bounds.items()]
    columns += [
        expect(arrays, name, np.float64, -np.inf, np.inf).tolist()
        for name in ("outcome_paid", "outcome_reward")
    ]
    for owner, kind, target, box, count, paid, reward in zip(*columns, strict=True):
        if (kind == CALL) != (box >= 0) or (kind == EXIT and target < 0):
            raise ValueError("an outcome calls without a box")
        counts.put(counts.add_outcome((owner, kind, target, box), paid), reward, count)


def _restored_estimate(counts: OutcomeCounts, arrays: dict[str, np.ndarray]) -> Estimate:
    weight, hope, times = (
        expect(arrays, f"estimate_{name}", np.float64, 0.0, np.inf).tolist()
        for name in ("weight", "hope", "times")
    )
    more = expect(arrays, "estimate_more", np.int64, 0, _MOST).tolist()
    wrong = any(pair >= len(hope) or like >= len(weight) for pair, like in more)
    if wrong or len(weight) > len(counts.count) or len(hope) > len(counts.tried):
        raise ValueError("counts and what is estimated from them do not fit")
    found = zip(more, times, strict=True)
    return Estimate(weight, hope, {pair: (like, often) for (pair, like), often in found})


def _restored_contexts(counts: OutcomeCounts, arrays: dict[str, np.ndarray]) -> list[Context]:
    last = len(counts.states) - 1
    states = expect(arrays, "context_state", np.int64, 0, last).tolist()
    width = expect(arrays, "context_width", np.int64, 3, _MOST)
    worth = expect(arrays, "context_worth", np.float64, -np.inf, np.inf)
    if int(width.sum()) != len(worth) or len(width) != len(states):
        raise ValueError("contexts and their exits do not fit")
    parts = np.split(worth, np.cumsum(width)[:-1])[: len(width)]
    visited = expect(arrays, "context_visited", np.int64, 0, 1).astype(bool).tolist()
    made = [
        Context(state, own.tolist(), visited=flag)
        for state, own, flag in zip(states, parts, visited, strict=True)
    ]
    places = expect(arrays, "context_places", np.int64, 0, max(last, len(made) - 1)).tolist()
    values = expect(arrays, "context_values", np.float64, -np.inf, np.inf).tolist()
    for (i, state), value in zip(places, values, strict=True):
        made[i].values[state] = value
    children = expect(arrays, "context_children", np.int64, 0, _MOST).tolist()
    for i, box, j in children:
        made[i].children[box] = made[j]
    return made
