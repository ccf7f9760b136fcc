from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded

import recurl
from recurl.automaton import LabelledMDP, Machine, MachineEnv, product, rule
from recurl.automaton.machine_env import Actions, encoder
from recurl.automaton.moves import Moves
from recurl.errors import ModelError, ProtocolError


class Line(gym.Env[np.ndarray, int]):
    """A walk on [0, 4] with noisy steps: A lies at the west end, B at the east end."""

    observation_space = spaces.Box(0, 4, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = 2.0
        return self._seen(), {}

    def _seen(self) -> np.ndarray:
        return np.array([self.x], np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        noise = float(self.np_random.normal(0, 0.1))
        self.x = float(np.clip(self.x + (1 if action else -1) + noise, 0, 4))
        broken = bool(self.np_random.random() < 0.02)
        return self._seen(), -0.1, broken, False, {}


class Cells(gym.Env[int, int]):
    """The same on five cells, without noise."""

    observation_space = spaces.Discrete(5)
    action_space = spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = 2
        return self.x, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.x = min(max(self.x + (1 if action else -1), 0), 4)
        return self.x, -0.1, bool(self.np_random.random() < 0.1), False, {}


def labels(here: Any, action: Any, there: Any) -> list[str]:
    x = float(np.asarray(there).reshape(-1)[0])
    return ["A"] if x < 0.5 else ["B"] if x > 3.5 else []


def ferry() -> Machine:
    return Machine(
        "ferry",
        [
            rule("go", "A", "go", push="load _"),
            rule("go", "B", "go", top="load", push="", reward=2),
            rule("go", "B", "done", top="bottom", reward=-1),
        ],
        final="done",
        exclusive=["AB"],
    )


def test_continuous_observations_keep_the_protocol() -> None:
    env = MachineEnv(Line(), ferry(), labels, exits=[np.array([4.0], np.float32)])
    recurl.check_recursive_env(env, steps=2000)
    assert env.observation_space.shape == (1 + 1 + 2 + 1,)


def test_a_return_shows_the_exit_that_the_call_announced() -> None:
    env = MachineEnv(Line(), ferry(), labels, exits=[np.array([4.0], np.float32)])
    env.reset(seed=3)
    infos: list[dict[str, Any]] = []
    for action in [0] * 4 + [1] * 6:
        observation, reward, ended, _, info = env.step(action)
        infos.append(info)
        if info["event"] == "return":
            assert observation.tolist() == [4, 1, 1, 0, 0] or env.stack[0] == "load"
            assert reward == pytest.approx(1.9)
            break
        assert not ended
    events = [info["event"] for info in infos if info["event"]]
    assert events[0] == "call"
    assert events[-1] == "return"


def first_return(env: MachineEnv) -> tuple[Any, dict[str, Any]]:
    """What is seen after the first call returns: load on the left, unload on the right."""
    env.reset(seed=3)
    for action in [0] * 4 + [1] * 8:
        observation, *_, info = env.step(action)
        if info["event"] == "return":
            return observation, info
    raise AssertionError("no call has returned")


def test_a_function_may_say_which_exit_is_taken() -> None:
    exits, asked = [np.array([x], np.float32) for x in (0.0, 4.0, 2.0)], []

    def which(observation: Any) -> int:
        asked.append(float(observation[0]))
        return 2

    observation, info = first_return(MachineEnv(Line(), ferry(), labels, exits=exits, which=which))
    assert (observation[0], info["exit"]) == (2.0, 2)
    assert asked[0] > 3.5  # by distance it would be the exit at 4
    observation, info = first_return(MachineEnv(Line(), ferry(), labels, exits=exits))
    assert (observation[0], info["exit"]) == (4.0, 1)


@pytest.mark.parametrize("wrong", [-1, 1, None, 0.5])
def test_an_exit_that_does_not_exist_is_named(wrong: Any) -> None:
    exits = [np.array([4.0], np.float32)]
    env = MachineEnv(Line(), ferry(), labels, exits=exits, which=lambda seen: wrong)
    with pytest.raises(ProtocolError, match=f"index of an exit, 0 to 0, not {wrong}"):
        first_return(env)


def test_the_end_of_a_run_leaves_the_calls_one_by_one() -> None:
    env = MachineEnv(Cells(), ferry(), labels, exits=[4])
    over = int(env.observation_space.n) - 1  # type: ignore[attr-defined]
    for seed in range(20):
        env.reset(seed=seed)
        seen = []
        ended = False
        while not ended:
            observation, reward, ended, _, info = env.step(0)
            seen.append((info["event"], info.get("exit"), observation, reward))
        calls = sum(event == "call" for event, *_ in seen)
        lost = [step for step in seen if step[0] == "return"]
        assert len(lost) == calls == max(0, len(seen) - calls - 2) or calls == 0
        assert all(step[1] == 1 and step[2] == over for step in lost)
        assert seen[-1][0] is None
        assert all(step[3] == 0 for step in seen[len(seen) - calls :])


def test_choices_and_epsilon_moves_are_actions_with_masks() -> None:
    machine = Machine(
        "m",
        [
            rule("p", "A", "p", push="L _", choice="push"),
            rule("p", "A", "q", choice="turn"),
            rule("q", None, "p", choice="again"),
            rule("q", None, "done", choice="stop", reward=5),
        ],
        final="done",
    )
    env = MachineEnv(Cells(), machine, labels)
    assert env.action_space == spaces.Discrete(2 * 2 + 2)
    recurl.check_recursive_env(env, steps=500)
    _, info = env.reset(seed=1)
    assert info["action_mask"].tolist() == [1, 1, 1, 1, 0, 0]
    env.step(0)
    _, _, ended, _, info = env.step(2)  # west, turn
    if not ended:
        assert info["action_mask"].tolist() == [0, 0, 0, 0, 1, 1]
        _, reward, ended, _, _ = env.step(5)
        assert (reward, ended) == (5, True)
        with pytest.raises(ResetNeeded):
            env.step(0)


def test_what_cannot_be_wrapped_is_refused() -> None:
    with pytest.raises(ModelError, match="give `exits`"):
        MachineEnv(Line(), ferry(), labels)
    with pytest.raises(ModelError, match="`exits` is empty"):
        MachineEnv(Line(), ferry(), labels, exits=[])
    choosy = Machine("m", [rule("p", None, "p", choice="x"), rule("p", "A", "p")])
    with pytest.raises(ModelError, match="cannot be added"):
        MachineEnv(gym.make("Pendulum-v1"), choosy, lambda s, a, t: [], exits=[np.zeros(3)])


def test_labels_that_are_missing_are_named() -> None:
    env = MachineEnv(Cells(), ferry(), lambda *step: None, exits=[4])
    env.reset(seed=0)
    with pytest.raises(TypeError, match=r"labels must give .* not None"):
        env.step(0)


def test_the_tabular_learner_finds_the_optimum_of_the_product() -> None:
    def step(state: int, action: str) -> list[tuple[Any, ...]]:
        there = min(max(state + (1 if action == "east" else -1), 0), 4)
        seen = labels(state, action, there)
        return [(there, "9/10", "-0.1", seen), (there, "1/10", "-0.1", seen, True)]

    world = LabelledMDP.explore("cells", {2: 1}, lambda s: ["west", "east"], step)
    best = recurl.solve(product(world, ferry())).value
    learner = recurl.RecursiveQLearning(
        MachineEnv(Cells(), ferry(), labels, exits=[4]),
        preset="swift",
        quantum=0.1,
        grain=0,
        exploration=0.3,
        seed=4,
    )
    learner.learn(50_000)
    env, total, episodes = MachineEnv(Cells(), ferry(), labels, exits=[4]), 0.0, 1000
    for episode in range(episodes):
        observation, info = env.reset(seed=episode)
        state, ended = None, False
        while not ended:
            action, state = learner.predict(observation, state, info=info)
            observation, reward, ended, _, info = env.step(action)
            total += reward
    assert total / episodes == pytest.approx(best, abs=0.2)


MOVES = Moves(
    Machine("m", [rule("p", "a", "q", push="A _"), rule("q", None, "p", choice="x"),
                  rule("p", "b", "q", top="A", choice="c")], exclusive=["ab"])
)  # fmt: skip


def test_numbers_and_vectors_show_all_three() -> None:
    space, encode, over = encoder(spaces.Discrete(3, start=5), MOVES)
    assert space == spaces.Discrete(3 * 2 * 2 + 1)
    assert over == 12
    a = MOVES.strings.index(("A",))
    codes = [encode(raw, q, w) for raw in (5, 6, 7) for q in (0, 1) for w in (0, a)]
    assert codes == list(range(12))
    box, vector, over = encoder(spaces.Box(-1, 1, (2,), np.float32), MOVES)
    seen = vector(np.array([0.5, -0.5], np.float32), 1, a)
    assert seen.tolist() == [0.5, -0.5, 0, 1, 0, 1, 0]
    assert over.tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert seen in box
    mixed, flat, _ = encoder(
        spaces.Dict({"x": spaces.Discrete(2), "y": spaces.Box(0, 1, (1,))}), MOVES
    )
    assert flat({"x": 1, "y": np.array([0.25], np.float32)}, 0, 0) in mixed


def test_actions_are_numbered_choice_by_choice() -> None:
    actions = Actions(spaces.Discrete(2), MOVES)
    a = MOVES.strings.index(("A",))
    assert actions.space == spaces.Discrete(2 * 2 + 1)  # choices "" and c, epsilon move x
    assert actions.decode(1, 0, 0) == (1, "")
    assert actions.decode(3, 0, a) == (1, "c")
    assert actions.decode(4, 1, 0) == (None, "x")
    assert actions.decode(0, 1, 0) == (None, "x")  # does not exist: counts on from the first
    mask = actions.mask(np.array([1, 0], np.int8), 0, a)
    assert mask is not None
    assert mask.tolist() == [0, 0, 1, 0, 0]
    lost = actions.mask(None, -1, 0)
    assert lost is not None
    assert lost.tolist() == [1, 0, 0, 0, 0]
    with pytest.raises(InvalidAction):
        actions.decode(9, 0, 0)


def test_without_choices_actions_stay_as_they_are() -> None:
    plain = Moves(Machine("m", [rule("p", "a", "p")]))
    box = spaces.Box(-1, 1, (1,), np.float32)
    actions = Actions(box, plain)
    assert actions.space is box
    assert actions.mask(None, 0, 0) is None


def _steady_cells() -> gym.Env[Any, Any]:
    class Steady(Cells):
        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
            self.x = min(max(self.x + (1 if action else -1), 0), 4)
            return self.x, -0.1, False, False, {}

    return Steady()


def test_counterfactual_steps_are_those_that_the_machine_takes_in_its_other_states() -> None:
    env = MachineEnv(_steady_cells(), ferry(), labels, counterfactual=True)
    assert env.counterfactuals == 1
    random = np.random.default_rng(0)
    taken: dict[tuple[int, int], tuple[Any, ...]] = {}
    others: dict[tuple[int, int], tuple[Any, ...]] = {}
    observation, ended = env.reset(seed=0)[0], False
    for _ in range(500):
        if ended:
            observation = env.reset()[0]
        action = int(random.integers(2))
        there, reward, ended, _, info = env.step(action)
        told = info.get("event"), info.get("exits"), info.get("exit")
        # After a return it is shown what lies below, which differs from run to run.
        seen = None if told[0] == "return" else int(there)
        taken[observation, action] = reward, ended, seen, *told
        for other in info.get("counterfactuals", ()):
            about = other.next_info
            told = about["event"], about.get("exits"), about.get("exit")
            seen = None if told[0] == "return" else int(other.next_observation)
            found = other.reward, other.terminated, seen, *told
            others[other.observation, int(other.action)] = found
        observation = there
    both = taken.keys() & others.keys()
    assert len(both) > 10
    assert all(taken[key] == others[key] for key in both)
    events = {others[key][3] for key in both}
    assert events == {None, "call", "return"}


def test_a_run_that_ends_would_leave_a_pending_call_by_its_last_exit() -> None:
    env = MachineEnv(Cells(), ferry(), labels, exits=[4], counterfactual=True)
    last = []
    for seed in range(30):
        env.reset(seed=seed)
        ended = False
        while not ended:
            *_, ended, _, info = env.step(0)
            last += [other for other in info.get("counterfactuals", ()) if ended and other.nested]
    over = int(env.observation_space.n) - 1  # type: ignore[attr-defined]
    assert last
    assert {(one.terminated, one.next_info["exit"]) for one in last} == {(False, 1)}
    assert {one.next_observation for one in last} == {over}


def test_counterfactual_steps_come_only_if_asked_for_and_where_the_action_exists() -> None:
    plain = MachineEnv(Cells(), ferry(), labels)
    plain.reset(seed=0)
    assert "counterfactuals" not in plain.step(0)[4]
    assert plain.counterfactuals == 0
    rules = [rule("m", "A", "m", choice="x"), rule("m", "A", "n", choice="y"), rule("n", "A", "m")]
    env = MachineEnv(Cells(), Machine("m", rules), labels, counterfactual=True)
    env.reset(seed=0)
    assert env.step(3)[4]["counterfactuals"] == ()
    for other in env.step(1)[4]["counterfactuals"]:
        assert other.info["action_mask"][int(other.action)]


def test_a_reward_that_is_not_a_number_is_named() -> None:
    class Text(gym.RewardWrapper[Any, Any]):
        def reward(self, reward: Any) -> Any:
            return "much"

    learner = recurl.RecursiveQLearning(MachineEnv(Text(Cells()), ferry(), labels))
    with pytest.raises(ProtocolError, match="step 0: the reward must be a number, not 'much'"):
        learner.learn(1)
