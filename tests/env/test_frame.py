from __future__ import annotations

import importlib.util
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import HumanRendering, RecordVideo, RenderCollection

import recurl
from recurl.env.frame import Frames
from recurl.registration import environment_id
from recurl.zoo import registry


@pytest.mark.parametrize("name", registry.names())
def test_frames_have_one_size_and_change_as_the_run_goes(name: str) -> None:
    env = gym.make(environment_id(name), render_mode="rgb_array")
    env.reset(seed=0)
    env.action_space.seed(0)
    frames = [env.render()]
    for _ in range(8):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        frames.append(env.render())
        if terminated or truncated:
            env.reset()
    for frame in frames:
        assert isinstance(frame, np.ndarray)
        assert (frame.shape, frame.dtype) == ((544, 960, 3), np.uint8)
    assert len({frame.tobytes() for frame in frames if isinstance(frame, np.ndarray)}) > 1


def test_gymnasium_finds_nothing_wrong() -> None:
    env = gym.make("recurl/Cloud-v0", render_mode="rgb_array", disable_env_checker=True).unwrapped
    check_env(env, skip_render_check=False)


def test_wrappers_of_gymnasium_collect_frames() -> None:
    env = RenderCollection(gym.make("recurl/Battery-v0", render_mode="rgb_array"))
    env.reset(seed=0)
    env.step(0)
    frames = env.render()
    assert isinstance(frames, list)
    assert len(frames) == 2
    HumanRendering(gym.make("recurl/Battery-v0", render_mode="rgb_array"))


@pytest.mark.skipif(
    importlib.util.find_spec("moviepy") is None, reason="needs moviepy, which is not here"
)
@pytest.mark.filterwarnings("ignore")
def test_a_video_is_recorded(tmp_path: Path) -> None:
    env = RecordVideo(gym.make("recurl/Cloud-v0", render_mode="rgb_array"), str(tmp_path))
    env.reset(seed=0)
    env.step(0)
    env.close()
    assert [path.suffix for path in tmp_path.iterdir()] == [".mp4"]


def test_the_stack_grows_beside_the_picture() -> None:
    model = recurl.zoo.cloud()
    frames, env = Frames(model), recurl.ModelEnv(model, render_mode="rgb_array")
    walk = recurl.Walk(model, np.random.default_rng(0))
    before = frames.frame(walk, None)
    after = frames.frame(walk, walk.step(1))
    stack = (slice(60, 500), slice(0, 240))
    assert (before[stack] != after[stack]).any()
    env.reset(seed=0)
    assert (env.render() == before).all()


def test_a_deep_stack_stays_inside_the_frame() -> None:
    model = (
        recurl.Builder("down")
        .component("A", entries="in", exits="out").box("again", "A")
        .at("in").action("deeper").to("again").action("stop").to("out")
        .at("again.out").action("up").to("out")
        .build()
    )  # fmt: skip
    walk = recurl.Walk(model, np.random.default_rng(0))
    for _ in range(500):
        step = walk.step(0)
    frame = Frames(model).frame(walk, step)
    assert (frame[:30, 300:] == frame[0, -1]).all()


def test_the_vertex_where_the_run_stands_is_outlined() -> None:
    model = recurl.zoo.cloud()
    walk = recurl.Walk(model, np.random.default_rng(0))
    marked = np.array([0xD5, 0x5E, 0x00])
    frames = Frames(model)
    spots = set()
    for action in (1, 0, 0, 0, 0):
        frame = frames.frame(walk, None)
        rows, columns = np.nonzero((frame == marked).all(axis=-1))
        spots.add((int(rows.mean()), int(columns.mean())))
        walk.step(action)
    assert len(spots) > 1


def test_frames_are_pickled_without_their_images() -> None:
    frames = Frames(recurl.zoo.cloud())
    walk = recurl.Walk(recurl.zoo.cloud(), np.random.default_rng(0))
    frame = frames.frame(walk, None)
    kind, arguments = frames.__reduce__()
    assert len(arguments) == 2
    assert (kind(*arguments).frame(walk, None) == frame).all()
