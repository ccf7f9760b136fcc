"""Gives every reader of files mutated files: each is read, or refused by one error of recurl.

Anything else (another exception, more than 30 seconds for one file) ends the run; the file is kept
and named. The tests run a few mutations of each reader; this is the long run.

    python scripts/fuzz_readers.py [--mutations 200000] [--seed 0] [--out FOLDER] [READER ...]
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import recurl
from recurl.errors import RecurlError

SECONDS = 30

GRAMMAR = """recurl: 1
name: brackets
grammar: |
  S -> a S b [1/3] | c [2/3]
"""
GRID = """recurl: 1
name: fetch
discount: 0.9
grid: {map: "S.A/..B", step_reward: -0.1, slip: 1/10}
machine:
  final: done
  rules:
    - {from: go, read: A, push: A _}
    - {from: go, read: B, top: A, push: "", to: done, reward: 1}
"""
MACHINE = """0 # initial state
[3]
(0,0,'!a',ConstantRewardFunction(0))
(0,1,'a&!b',ConstantRewardFunction(0))
(1,3,'b',ConstantRewardFunction(1))
"""
BOOLEAN = """var x, y;
bool toss(z) { var w; w = flip(1/3) || z; if (w && !y) { return true; } else { return *; } }
void main() { x, y = choose(), false; while (x) { x = toss(y); } assert(!y); }
"""
BDP = """bdp
const double p = 0.25; formula q = 1 - p;
label "final" = k = 1;
module main
  k : [0..2] init 0; b : bool init false;
  [go] k=0 & !b -> p : (k'=2) & (b'=true) + q : (k'=1);
  [c1] k=2 -> (k'=0) & (b'=false);
  [c2] k=2 -> (k'=1);
endmodule
player one [go] endplayer
player nature [c1], [c2] endplayer
rewards "r" [go] true : max(1, mod(7, 4)); k=0 : 1/3; endrewards
"""
PRISM = """mdp
const double p = 1/3;
module walk
  s : [0..3] init 0;
  [safe] s=0 -> p : (s'=1) + 1-p : (s'=3);
  [bold] s=0 -> 0.9 : (s'=2) + 0.1 : (s'=3);
  [on] s=1 | s=2 -> (s'=3);
  [end] s=3 -> true;
endmodule
rewards "r" [safe] true : 1; endrewards
label "home" = s=3;
"""
HDDL_DOMAIN = """(define (domain count)
  (:requirements :typing :hierarchy)
  (:types level)
  (:predicates (next ?a ?b - level) (last ?a - level) (on))
  (:task descend :parameters (?a - level))
  (:method more :parameters (?a ?b - level) :task (descend ?a)
    :precondition (next ?a ?b)
    :ordered-subtasks (and (press) (descend ?b)))
  (:method end :parameters (?a - level) :task (descend ?a)
    :precondition (last ?a)
    :ordered-subtasks (and (press)))
  (:action press :parameters () :effect (on)))
"""
HDDL_PROBLEM = """(define (problem p) (:domain count) (:objects a b - level)
  (:htn :parameters () :ordered-subtasks (and (descend a)))
  (:init (next a b) (last b)))
"""
PREMO = """A(1,2); B(2,1);
A { b(B); entry(1): 1/3: call b(1); 1/3: call b(2); 1/3: goto u;
    u: 1: return 2; b(1): 1: return 1; }
B { a(A); entry(1): 0.5: call a(1); 0.5: return 1; max entry(2): return 1; goto v;
    a(1): 1: return 1; a(2): 1: return 1; v: 1: return 1; }
"""
PUSHDOWN = """start p A 1/2
start q A 0.5
p A go 1/3 p A B C -1  # a comment
p A go 2/3 q -1
p "B" a 1 q C 0
q A go 1 q 2
q B go 1 p A 2
q C b 1/2 q C C 1e-1
q C b 1/2 p 0
p C a 1 p A 1
"""
EXPERIMENT = """models: {cloud: {parameters: {exits: 1}}, gambler: {zoo: gambler, steps: 1e3}}
methods: {a: {algorithm: rql, learning_rate: harmonic(offset=10)}, b: {algorithm: q}}
settings: {exploration: 0.1}
steps: 100
seeds: [0, 1]
"""
WORDS = (
    b"1e400", b"-1", b"0", b"99999999999999999999", b"1/0", b"nan", b"inf", b"null", b"true", b"[[",
    b"}}", b"((((", b"!!!!", b"\xff\xfe", b"\0", b"&a", b"*a", b"<<", b"'", b'"', b"\n", b"..",
    b"/", b"2147483648", b"{}", b"[]", b"$",
)  # fmt: skip


class Reader(NamedTuple):
    """A reader: the name of its file, a file to begin with, and how it is read."""

    file: str
    sample: Callable[[], bytes]
    read: Callable[[Path], object]


def _text(text: str) -> Callable[[], bytes]:
    return text.encode


def _saved(file: str, write: Callable[[Path], object]) -> Callable[[], bytes]:
    def sample() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder, file))
            return Path(folder, file).read_bytes()

    return sample


def _model() -> recurl.RMDP:
    return recurl.zoo.gambler(p="1/3")


def _learner(path: Path) -> None:
    recurl.QLearning(_model(), seed=0).save(path)


def _read_record(path: Path) -> object:
    from recurl.experiment.record import read_record

    return read_record(path)


def _record(path: Path) -> None:
    from recurl.experiment.paper import paper_experiments
    from recurl.experiment.record import run_record, write_record

    write_record(path, run_record(next(paper_experiments(seeds=1)["cloud"].runs())))


def _experiments(path: Path) -> object:
    from recurl.experiment.document import load_experiments

    return load_experiments(path)


def _drn(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recurl.dump(recurl.zoo.succinct(2), Path(folder, "a.drn"))
        path.write_bytes(Path(folder, "a.drn").read_bytes())


def _jani(path: Path) -> None:
    import stormpy
    import stormpy.io

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "a.prism")
        program.write_text(PRISM)
        model, _ = stormpy.parse_prism_program(str(program)).to_jani([])
        stormpy.io.export_jani_to_file(str(path), model)


def _at_home(path: Path) -> object:
    return recurl.load(path, goal="home")


def _planned(path: Path) -> object:
    problem = path.with_name("problem.hddl")
    problem.write_text(HDDL_PROBLEM)
    return recurl.load(path, problem=problem)


NEEDS = {"drn": "stormpy", "hddl": "unified_planning", "jani": "stormpy", "prism": "stormpy"}
"""Packages that readers need."""
SLOW = ("drn", "jani", "prism")
"""Readers that start Storm for each file: they get a hundredth of the mutations."""
READERS = {
    "bdp": Reader("a.prism", _text(BDP), recurl.load),
    "boolean": Reader("a.bp", _text(BOOLEAN), recurl.load),
    "certificate": Reader(
        "a.cert",
        _saved("a", lambda path: recurl.solve(_model()).certificate.save(path)),
        recurl.Certificate.load,
    ),
    "checkpoint": Reader(
        "a.ckpt", _saved("a", _learner), lambda path: recurl.QLearning.load(path, _model())
    ),
    "drn": Reader("a.drn", _saved("a", _drn), lambda path: recurl.load(path, goal="out")),
    "experiment": Reader("a.yaml", _text(EXPERIMENT), _experiments),
    "grammar": Reader("a.yaml", _text(GRAMMAR), recurl.load),
    "grid": Reader("a.yaml", _text(GRID), recurl.load),
    "hddl": Reader("domain.hddl", _text(HDDL_DOMAIN), _planned),
    "jani": Reader("a.jani", _saved("a", _jani), _at_home),
    "json": Reader(
        "a.json", lambda: recurl.dumps(recurl.zoo.cloud(), "json").encode(), recurl.load
    ),
    "machine": Reader("a.txt", _text(MACHINE), recurl.load),
    "policy": Reader(
        "a.policy",
        _saved("a", lambda path: recurl.Policy.stackless(_model(), {}).save(path)),
        lambda path: recurl.Policy.load(path, _model()),
    ),
    "premo": Reader("a.rmc", _text(PREMO), recurl.load),
    "prism": Reader("a.nm", _text(PRISM), _at_home),
    "pushdown": Reader("a.pds", _text(PUSHDOWN), recurl.load),
    "record": Reader("a.json", _saved("a", _record), _read_record),
    "umb": Reader(
        "a.umb",
        _saved("a.umb", lambda path: recurl.dump(recurl.zoo.succinct(2), path)),
        recurl.load,
    ),
    "yaml": Reader("a.yaml", lambda: recurl.dumps(recurl.zoo.cloud()).encode(), recurl.load),
}


def mutated(data: bytes, random: random.Random) -> bytes:
    """The data with one to four small or large changes."""
    for _ in range(random.randint(1, 4)):
        data = _changed(data, random)
    return data


def _changed(data: bytes, random: random.Random) -> bytes:
    place = random.randrange(len(data) + 1)
    size = random.choice((1, 2, 4, 16, 64, 256))
    kind = random.randrange(8)
    before, after = data[:place], data[place:]
    if kind == 0:
        return before + bytes(random.randrange(256) for _ in range(size % 17)) + after
    if kind == 1:
        return before + after[size:]
    if kind == 2:
        return before + after[:size] * random.choice((2, 3, 200)) + after[size:]
    if kind == 3:
        return before
    if kind == 4:
        return before + random.choice(WORDS) + after
    if kind == 5:
        return before + random.choice(WORDS) + after[size:]
    if kind == 6 and after:
        return before + bytes([after[0] ^ (1 << random.randrange(8))]) + after[1:]
    other = random.randrange(len(data) + 1)
    return before + data[other : other + size] + after


def _inside(data: bytes, random: random.Random) -> bytes:
    """A UMB archive with a mutated member, its lengths in order."""
    from recurl.model.formats.tar import pack, unpack

    files = {name: bytes(member) for name, member in unpack(data).items()}
    name = random.choice(list(files))
    files[name] = mutated(files[name], random)
    return pack(files)


def fuzz(reader: str, folder: Path, seed: int, mutations: int) -> Counter[str]:
    """Mutations of a reader's file: how many were read, and how many refused."""
    given, counts = READERS[reader], Counter[str]()
    draws = random.Random(zlib.crc32(f"{reader} {seed}".encode()))
    data, path = given.sample(), folder / given.file
    for _ in range(mutations):
        inside = reader == "umb" and draws.random() < 0.7
        path.write_bytes((_inside if inside else mutated)(data, draws))
        try:
            given.read(path)
            counts["read"] += 1
        except RecurlError as error:
            counts["refused"] += 1
            if len(str(error)) > 30_000:
                raise AssertionError(f"{reader}: a message of {len(str(error))}") from error
    return counts


def _late(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"a file took more than {SECONDS} seconds")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("readers", nargs="*", default=[], help="all if none is named")
    parser.add_argument("--mutations", type=int, default=200_000, help="of all readers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    there = [name for name in READERS if name not in NEEDS or find_spec(NEEDS[name])]
    names, total = given.readers or there, Counter[str]()
    signal.signal(signal.SIGALRM, _late)
    for name in names:
        begin, share = time.process_time(), -(-given.mutations // len(names))
        share = -(-share // 100) if name in SLOW else share
        found = Counter[str]()
        for block in range(-(-share // 100)):
            signal.alarm(100 * SECONDS)
            try:
                found += fuzz(name, given.out, given.seed * 1_000_000 + block, min(100, share))
            except Exception as error:
                kept = given.out / READERS[name].file
                print(f"{name}: {type(error).__name__}: {error}; the file is {kept}")
                raise
        seconds = time.process_time() - begin
        print(f"{name:12} {found['read']:7} read {found['refused']:7} refused {seconds:8.1f} s",
              flush=True)  # fmt: skip
        total += found
    print(f"{'all':12} {total['read']:7} read {total['refused']:7} refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
