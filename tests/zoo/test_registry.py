from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recurl import zoo
from recurl.errors import LimitError, UnknownNameError
from recurl.zoo import models, registry
from recurl.zoo.registry import make, make_from_text, parameters


def test_every_model_is_a_function_of_the_zoo() -> None:
    files = [path.stem for path in Path(models.__file__).parent.glob("[a-z]*.py")]
    assert zoo.names() == sorted(files)
    assert all(getattr(zoo, name).__name__ == name for name in files)
    assert sorted(zoo.__all__) == zoo.__all__
    assert {*files, "make", "names"} <= set(dir(zoo))
    with pytest.raises(AttributeError, match="clod"):
        zoo.clod  # noqa: B018


NEW = '''
"""A model of one file."""

from recurl.model.builder import Builder

STEP_LIMIT = 7


def vertices(steps, **others):
    return steps


def walk(steps: int = 2):
    """Take some steps."""
    builder = Builder("walk").component("A", entries="in", exits="out")
    return builder.at("in").action("go", reward=steps).to("out").build()
'''

USE = """
import gymnasium, recurl, sys
assert "walk" in recurl.zoo.names() and "recurl.zoo.models.cloud" not in sys.modules
assert recurl.zoo.walk(3).tables.reward.tolist() == [3]
assert recurl.zoo.make_from_text("walk", ["steps=4"]).tables.reward.tolist() == [4]
env = gymnasium.make("recurl/Walk-v0", steps=5)
assert env.spec.max_episode_steps == 7 and env.reset()[0] == 0 and env.step(0)[1] == 5
try:
    recurl.zoo.make("walk", steps=10**9)
except recurl.errors.LimitError:
    print(recurl.zoo.summary("walk"))
"""


def test_a_new_model_is_one_new_file(tmp_path: Path) -> None:
    package = Path(models.__file__).parents[2]
    copy = tmp_path / "recurl"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "zoo" / "models" / "walk.py").write_text(NEW.strip())
    done = subprocess.run(
        [sys.executable, "-B", "-c", USE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "Take some steps.\n"), done.stderr


@pytest.mark.parametrize("name", zoo.names())
def test_every_model_can_be_made_and_says_what_it_is(name: str) -> None:
    model = zoo.make(name)
    assert model.name == name
    assert zoo.make_from_text(name) == model
    assert zoo.summary(name).endswith(".")
    assert len(zoo.summary(name)) < 100
    assert all(value is not inspect.Parameter.empty for value in zoo.parameters(name).values())


def test_text_and_python_make_the_same_model() -> None:
    assert zoo.make_from_text("cloud", ["exits=1"]) == zoo.cloud(exits=1)
    assert zoo.make_from_text("gambler", ["p = 1/3"]) == zoo.gambler("1/3")
    assert zoo.make_from_text("gambler", ["p=0.25"]) == zoo.gambler(0.25)
    assert zoo.make_from_text("succinct", ["n=4"]) == zoo.succinct(4)
    assert zoo.make_from_text("battery", ["layout=SCT", "charge=1"]) == zoo.battery("SCT", 1)
    assert zoo.make_from_text("leaky_pfa", ["initial=1/4,3/4", "accepting=0, 1"]) == zoo.leaky_pfa(
        initial=("1/4", "3/4"), accepting=(0, 1)
    )
    assert zoo.make_from_text("spelunking", ["levels=ox/or,xx/xx", "start=0,1"]) == zoo.spelunking(
        levels=("ox/or", "xx/xx"), start=(0, 1)
    )
    swap, mix = ((0, 1), (1, 0)), (("1/2", "1/2"), (0, 1))
    assert zoo.make_from_text(
        "leaky_pfa", ["letters=swap:0,1:1,0+mix:1/2,1/2:0,1"]
    ) == zoo.leaky_pfa(letters={"swap": swap, "mix": mix})
    words = ["kind=one_exit", "exits=none", "boxes=2", "load=inf", "seed=3", "nodes=8"]
    assert zoo.make_from_text("random_model", words) == zoo.random_model(
        3, nodes=8, kind="one_exit", boxes=2, load=float("inf")
    )


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown model 'clod'. Did you mean 'cloud'"):
        zoo.make("clod")
    with pytest.raises(UnknownNameError, match=r"parameter of spelunking 'trapp'.*'trap'"):
        zoo.make_from_text("spelunking", ["trapp=0.5"])
    with pytest.raises(UnknownNameError, match=r"parameter of cloud 'exit'.*'exits'"):
        zoo.make("cloud", exit=1)


@pytest.mark.parametrize(
    ("name", "assignment", "message"),
    [
        ("cloud", "exits=3", "cloud: exits must be one of 1, 2, not '3'"),
        ("gambler", "p=half", "gambler: p must be a number such as 3, 0.25 or 1/3, not 'half'"),
        ("gambler", "p=2", r"p must be in \(0, 1\), not 2"),
        ("succinct", "n=2.5", "succinct: n must be a whole number, not '2.5'"),
        ("succinct", "n", "'n' is not a parameter of succinct: write it as key=value"),
        ("random_model", "load=much", "load must be a number, not 'much'"),
        ("random_model", "kind=odd", "kind must be one of general, one_exit"),
        ("random_model", "exits=two", "exits must be a whole number, not 'two'"),
        ("spelunking", "start=0", "start must be 2 values separated by commas"),
        ("leaky_pfa", "letters=ab", "letters must be NAME:ROW:ROW.*, not 'ab'"),
        ("leaky_pfa", "letters=a:1,0:0,1+a:1,0:0,1", "with new names"),
        ("leaky_pfa", "letters=a:1,x:0,1", "letters must be a number .*, not 'x'"),
        ("leaky_pfa", "letters=a:1,0", "letter a: its matrix has 1 rows instead of 2"),
    ],
)
def test_wrong_values_are_refused(name: str, assignment: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        zoo.make_from_text(name, [assignment])


def test_a_parameter_is_given_once() -> None:
    with pytest.raises(ValueError, match="succinct: n is given twice"):
        zoo.make_from_text("succinct", ["n=1", "n=2"])


def test_making_a_model_loads_nothing_heavy() -> None:
    heavy = ["jax", "matplotlib", "numba", "rich", "scipy", "typer", "yaml"]
    code = (
        f"import sys, recurl; recurl.zoo.cloud(); print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "values"),
    [("succinct", {"n": 100_000_000}), ("palindrome", {"size": 300}),
     ("letter_world", {"patience": 10**9}), ("palindrome_product", {"size": 10**6}),
     ("random_model", {"components": 10**9})],
)  # fmt: skip
def test_models_that_are_too_large_are_refused_before_they_are_built(
    name: str, values: dict[str, int]
) -> None:
    with pytest.raises(LimitError, match=f"{name} with .* is too large: about .* vertices"):
        make(name, **values)
    with pytest.raises(LimitError, match="too large"):
        make_from_text(name, [f"{key}={value}" for key, value in values.items()])


@pytest.mark.parametrize(
    ("name", "values"),
    [("succinct", {"n": 50}), ("palindrome", {"size": 6}), ("letter_world", {"patience": 20}),
     ("palindrome_product", {"size": 6}), ("random_model", {"components": 20, "nodes": 50})],
)  # fmt: skip
def test_sizes_are_estimated_well(name: str, values: dict[str, int]) -> None:
    guess = registry._module(name).vertices(**{**parameters(name), **values})
    assert guess == pytest.approx(make(name, **values).tables.n_vertices, rel=0.25)
