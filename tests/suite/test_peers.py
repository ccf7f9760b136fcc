from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import pytest

from recurl.errors import MissingExtraError
from recurl.suite.agents import find_agent, played_episode
from recurl.suite.peers import PEERS, PeerTrainee
from recurl.suite.tasks import find_setting


def installed(name: str) -> bool:
    return importlib.util.find_spec(PEERS[name][0]) is not None


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_is_not_installed_names_the_command(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr("recurl.suite.peers.importlib.import_module", missing)
    with pytest.raises(MissingExtraError, match=r"recurl\[bench\]"):
        find_agent(name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_is_trained_and_evaluated(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not installed(name):
        pytest.skip(f"needs {PEERS[name][0]}: make install-bench")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    setting = find_setting("words-small")
    one, seen = PeerTrainee(name, setting, setting.model(), seed=0), []
    one.train([0, 100, 300], seen.append, lambda: False)
    assert seen == [0, 100, 300]
    assert one.steps >= 300
    worth = one.worth()
    assert worth.value is not None
    assert bool(worth.note) == one.recurrent
    assert (one.policy() is None) == one.recurrent
    assert not list(tmp_path.glob("SB3*"))  # logs


@pytest.mark.filterwarnings("ignore")
def test_a_peer_sees_images() -> None:
    if not installed("sb3-dqn"):
        pytest.skip("needs stable_baselines3: make install-bench")
    setting = find_setting("battery-image-small")
    one = PeerTrainee("sb3-dqn", setting, setting.model(), seed=0)
    one.train([50], lambda _: None, lambda: False)
    assert one.worth().value is not None


@pytest.mark.filterwarnings("ignore")
def test_episodes_side_by_side_are_those_played_one_by_one() -> None:
    if not installed("sb3-recurrent-ppo"):
        pytest.skip("needs sb3_contrib: make install-bench")
    setting = find_setting("epidemic-small")
    one = PeerTrainee("sb3-recurrent-ppo", setting, setting.model(), seed=3)
    env, seeds = setting.env(one.model), list(range(8))
    alone = [played_episode(env, one._begin(), seed) for seed in seeds]
    assert one.test_episodes(seeds) == alone
    assert all(episode.ended for episode in alone)
