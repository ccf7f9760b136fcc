"""UMB, the Unified Markov Binary: the exchange format of Storm, PRISM and Modest.

A tar archive of ``index.json`` and arrays; numbers are doubles or rationals. Discrete-time Markov
chains and decision processes are read, others are refused by name. Models are written flat, with
rational numbers where they are exact; names of states go into an annotation of ours.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import numpy as np

from recurl.model.files import write_atomic
from recurl.model.formats.flat import Flat, exits_of, flat_of, model_of
from recurl.model.formats.format import Format, Options, errors_of, refuse
from recurl.model.formats.properties import asked
from recurl.model.formats.tar import ArchiveError, pack, unpack
from recurl.model.limits import MOST_STATES, read_bytes
from recurl.model.names import is_name
from recurl.model.report import shown
from recurl.version import __version__

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

_LARGEST_INDEX = 1 << 26
_ENTITIES = ("states", "choices", "branches")
MOST_NAMES = 100_000
"""States of the largest model whose names are written into the index."""


def read(path: Path, options: Options) -> RMDP:
    """Read a UMB file as a model."""
    data = read_bytes(path)
    try:
        with errors_of(path):
            flat = flat_from(data, path.stem, options)
            return model_of(flat, exits_of(flat, options, str(path)))
    except (ArchiveError, DamagedError) as error:
        refuse(path, str(error), "write the file again")


class DamagedError(ValueError):
    """An index or an array that breaks the rules of the format."""


def flat_from(data: bytes, name: str, options: Options | None = None) -> Flat:
    """The flat model in the bytes of a UMB file."""
    return _Reader(unpack(data), name, options or Options()).flat()


def _damaged(message: str) -> NoReturn:
    raise DamagedError(message)


class _Reader:
    """Reads the index, then the arrays whose sizes it announces."""

    def __init__(self, files: Mapping[str, memoryview], name: str, options: Options) -> None:
        self.files, self.name, self.options = files, name, options
        self.index = self._index()
        system = self.piece(self.index, "transition-system", dict)
        self.system = system
        self.check_kind()
        self.sizes = {entity: self.count(f"#{entity}") for entity in _ENTITIES}

    def _index(self) -> dict[str, Any]:
        if "index.json" not in self.files:
            _damaged("has no index.json")
        raw = self.files["index.json"]
        if len(raw) > _LARGEST_INDEX:
            _damaged(f"index.json has more than {_LARGEST_INDEX >> 20} MiB")
        try:
            index = msgspec.json.decode(bytes(raw))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            _damaged(f"index.json is not valid JSON: {str(error)[:200]}")
        if not isinstance(index, dict):
            _damaged("index.json is not a mapping")
        version = index.get("format-version")
        if version not in (0, 1):
            _damaged(f"index.json: format-version {shown(version)} is not known, 1 is")
        return index

    def piece(self, tree: Any, key: str, kind: type) -> Any:
        """A value of the index, of the type that it must have."""
        value = tree.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            _damaged(f"index.json: {shown(key)[1:-1]} is missing or of the wrong type")
        return value

    def count(self, key: str) -> int:
        """A number of things."""
        value: int = self.piece(self.system, key, int)
        if not 0 <= value <= MOST_STATES:
            _damaged(f"index.json: {key} is {value}, not between 0 and {MOST_STATES}")
        return value

    def check_kind(self) -> None:
        """Refuse models of other kinds, by name."""
        time, players = self.system.get("time"), self.piece(self.system, "#players", int)
        if time != "discrete":
            kinds = {"stochastic": "a continuous-time model", "urgent-stochastic": "an automaton"}
            _damaged(f"is {kinds.get(str(time), 'a model')} with time {shown(time)}, not discrete")
        if players > 1:
            _damaged(f"is a game of {players} players: one at most is known here")
        if self.system.get("#observations", 0):
            _damaged("has observations (a POMDP), which are not known here")

    def flat(self) -> Flat:
        """The model."""
        states, choices, branches = self.sizes.values()
        # Read first: every state and choice that is claimed must be backed by bytes.
        target = self.array("branch-to-target.bin", branches, "<u8")
        state_choices = self.starts("state-to-choices.bin", states, choices)
        choice_branches = self.starts("choice-to-branches.bin", choices, branches)
        if branches and int(target.max()) >= states:
            _damaged(f"branch-to-target.bin names state {int(target.max())} of {states}")
        if (np.diff(choice_branches) == 0).any():
            _damaged("choice-to-branches.bin has a choice without branches")
        prob = self.numbers("branch-to-probability.bin", branches, self.probability_type())
        reward = self.rewards(state_choices, choice_branches)
        if prob.dtype == object and reward.dtype != object:
            reward = _fractions(reward)
        elif prob.dtype != object:
            reward = reward.astype(np.float64)
        return Flat(
            self.title(),
            state_choices,
            choice_branches,
            target.astype(np.int64),
            prob,
            reward,
            self.initial(),
            self.labels(),
            self.state_names(),
            self.actions(),
            self.exits(),
            self.component(),
        )

    def title(self) -> str:
        data = self.index.get("model-data")
        name = data.get("name") if isinstance(data, dict) else None
        return name if isinstance(name, str) and name and name.isprintable() else self.name

    def probability_type(self) -> dict[str, Any]:
        if "branch-probability-type" not in self.system:
            _damaged("has no probabilities (a transition system), which is not known here")
        found: dict[str, Any] = self.piece(self.system, "branch-probability-type", dict)
        return found

    # Arrays

    def array(self, name: str, count: int, kind: str) -> np.ndarray:
        """An array of a file that must be there."""
        if name not in self.files:
            if count:
                _damaged(f"has no {name}")
            return np.zeros(0, kind)
        self.check_size(name, count * np.dtype(kind).itemsize)
        return np.frombuffer(self.files[name], kind)

    def check_size(self, name: str, size: int) -> None:
        found = len(self.files[name])
        if found != size:
            _damaged(f"{name} has {found} bytes, not the {size} that index.json asks for")

    def starts(self, name: str, rows: int, count: int) -> np.ndarray:
        """A CSR mapping; one to one if the file is absent."""
        if name not in self.files:
            if rows != count:
                _damaged(f"has no {name}, though {rows} are not mapped one to one to {count}")
            return np.arange(rows + 1)
        found = self.array(name, rows + 1, "<u8")
        if found[0] != 0 or found[-1] != count or (found[1:] < found[:-1]).any():
            _damaged(f"{name} does not ascend from 0 to {count}")
        return found.astype(np.int64)

    def bits(self, name: str, count: int) -> np.ndarray:
        if name not in self.files:
            return np.zeros(count, bool)
        self.check_size(name, -(-count // 64) * 8)
        packed = np.frombuffer(self.files[name], np.uint8)
        return np.unpackbits(packed, bitorder="little")[:count].astype(bool)

    def numbers(self, name: str, count: int, kind: Any) -> np.ndarray:
        """Doubles, or rationals as fractions."""
        word = kind.get("type") if isinstance(kind, dict) else None
        if word == "double":
            found = self.array(name, count, "<f8")
            if not np.isfinite(found).all():
                _damaged(f"{name} has a number that is not finite")
            return found
        if word != "rational":
            _damaged(f"{name} has numbers of type {shown(word)}: double and rational are known")
        size = kind.get("size", 128)
        if not isinstance(size, int) or size <= 0 or size % 128 or size > 1 << 20:
            _damaged(f"{name}: the size {shown(size)} of rationals is not a multiple of 128")
        if name not in self.files:
            return _fractions(np.zeros(count))
        self.check_size(name, count * size // 8)
        return _rationals(self.files[name], size // 16, name)

    # What is annotated

    def annotations(self, group: str) -> dict[str, dict[str, Any]]:
        found = self.index.get("annotations", {})
        listed = found.get(group, {}) if isinstance(found, dict) else None
        if not isinstance(listed, dict) or not all(isinstance(a, dict) for a in listed.values()):
            _damaged(f"index.json: annotations of {group} are not a mapping")
        return listed

    def initial(self) -> int:
        initial = np.flatnonzero(self.bits("state-is-initial.bin", self.sizes["states"]))
        if len(initial) != 1:
            _damaged(f"has {len(initial)} initial states: one is expected")
        return int(initial[0])

    def labels(self) -> dict[str, np.ndarray]:
        return {
            _alias(key, note): self.bits(
                f"annotations/aps/{key}/states/values.bin", self.sizes["states"]
            )
            for key, note in self.annotations("aps").items()
        }

    def rewards(self, choices: np.ndarray, branches: np.ndarray) -> np.ndarray:
        """The reward of each branch: its own, its choice's and its state's."""
        total = np.zeros(self.sizes["branches"], np.int64)  # adds to floats and to fractions
        key = self.reward_key()
        if key is None:
            return total
        note = self.annotations("rewards")[key]
        paid: dict[str, np.ndarray] = {}
        for entity in _ENTITIES:
            name = f"annotations/rewards/{key}/{entity}/values.bin"
            if name in self.files:
                paid[entity] = self.numbers(name, self.sizes[entity], note.get("type"))
        # From states down to branches: sums of fractions take long, and branches are many.
        for above, entity, starts in (
            ("states", "choices", choices),
            ("choices", "branches", branches),
        ):
            if above in paid:
                spread = np.repeat(paid[above], np.diff(starts))
                paid[entity] = spread + paid[entity] if entity in paid else spread
        return paid.get("branches", total)

    def reward_key(self) -> str | None:
        """The reward structure that is asked for, or the only one; None if none is."""
        question = None if self.options.property is None else asked(self.options.property)
        if question is not None and question.of != "reward":
            return None
        wanted = self.options.rewards if question is None else question.rewards
        known = {_alias(key, note): key for key, note in self.annotations("rewards").items()}
        names = ", ".join(shown(name)[1:-1] for name in known) or "none"
        if wanted is not None and wanted not in known:
            _damaged(f"has no rewards {shown(wanted)}, but {names}")
        if wanted is None and len(known) > 1:
            _damaged(f"has several rewards: name one, rewards=NAME, of {names}")
        if question is not None and not known:
            _damaged("has no rewards, but the property asks for them")
        return known[wanted] if wanted is not None else next(iter(known.values()), None)

    def strings(self, folder: str, count: int) -> list[str] | None:
        """Texts of a string mapping."""
        if f"{folder}/string-mapping.bin" not in self.files:
            return None
        raw = bytes(self.files.get(f"{folder}/strings.bin", b""))
        ends = self.starts(f"{folder}/string-mapping.bin", count, len(raw)).tolist()
        try:
            return [raw[begin:end].decode() for begin, end in itertools.pairwise(ends)]
        except UnicodeDecodeError:
            _damaged(f"{folder}/strings.bin is not text in UTF-8")

    def chosen(self, folder: str, count: int, strings: Sequence[str], kind: str) -> list[str]:
        if f"{folder}/values.bin" not in self.files:
            return [strings[0]] * count
        values = self.array(f"{folder}/values.bin", count, kind)
        if count and int(values.max()) >= len(strings):
            _damaged(f"{folder}/values.bin names text {int(values.max())} of {len(strings)}")
        return [strings[i] for i in values.tolist()]

    def actions(self) -> Sequence[str] | None:
        count = self.system.get("#choice-actions", 0)
        if not isinstance(count, int) or not 0 <= count <= MOST_STATES:
            _damaged("index.json: #choice-actions is not a count")
        strings = self.strings("actions/choices", count) if count else None
        if strings is None:
            return None
        return self.chosen("actions/choices", self.sizes["choices"], strings, "<u4")

    def state_names(self) -> Sequence[str] | None:
        """The names that a file of ours gives to its states."""
        names = self.marks().get("states")
        if not isinstance(names, list) or len(names) != self.sizes["states"]:
            return None
        return (
            names if len(set(map(str, names))) == len(names) and all(map(is_name, names)) else None
        )

    def component(self) -> str:
        name = self.marks().get("component")
        return str(name) if is_name(name) else "main"

    def exits(self) -> tuple[str, ...]:
        """The labels that a file of ours marks as its exits."""
        keys, notes = self.marks().get("exits"), self.annotations("aps")
        if not isinstance(keys, list) or not all(key in notes for key in map(str, keys)):
            return ()
        return tuple(_alias(str(key), notes[str(key)]) for key in keys)

    def marks(self) -> dict[str, Any]:
        """The notes of a file of ours on the model."""
        data = self.index.get("file-data")
        marks = data.get("parameters") if isinstance(data, dict) else None
        return marks if isinstance(marks, dict) else {}


def _alias(key: str, note: dict[str, Any]) -> str:
    alias = note.get("alias", key)
    return alias if isinstance(alias, str) else key


def _fractions(values: np.ndarray) -> np.ndarray:
    column = np.empty(len(values), object)
    column[:] = [Fraction(value) for value in values.tolist()]
    return column


def _rationals(raw: memoryview, half: int, name: str) -> np.ndarray:
    """Numerators and denominators of `half` bytes each, as fractions."""
    codes = np.frombuffer(raw, np.dtype((np.void, 2 * half)))
    column = np.empty(len(codes), object)
    known: dict[bytes, Fraction] = {}  # models have few different numbers
    try:
        for code in set(codes.tolist()):
            known[code] = Fraction(
                int.from_bytes(code[:half], "little", signed=True),
                int.from_bytes(code[half:], "little"),
            )
    except ZeroDivisionError:
        _damaged(f"{name} has a denominator of 0")
    column[:] = [known[code] for code in codes.tolist()]
    return column


# Writing


def write(model: RMDP, path: Path) -> None:
    """Write a model as a UMB file."""
    write_atomic(path, packed(flat_of(model)))


def packed(flat: Flat) -> bytes:
    """The bytes of the UMB file of a flat model."""
    size = _size_of(flat)
    kind = {"type": "rational", "size": size} if size else {"type": "double", "size": 64}
    strings, number = _numbered(flat.action_names or [])
    sizes = (flat.n_states, len(flat.branches) - 1, len(flat.target))
    exits = {f"exit{k}": name for k, name in enumerate(flat.labels)}
    entity, reward = _rewards(flat)
    index = {
        "format-version": 1,
        "format-revision": 0,
        "model-data": {"name": flat.name},
        "file-data": {
            "tool": "recurl",
            "tool-version": __version__,
            "parameters": _marks(flat, list(exits)),
        },
        "transition-system": {
            "time": "discrete",
            "#players": 1,
            "#states": sizes[0],
            "#initial-states": 1,
            "#choices": sizes[1],
            "#choice-actions": len(strings),
            "#branches": sizes[2],
            "#branch-actions": 0,
            "#observations": 0,
            "branch-probability-type": kind,
        },
        "annotations": {
            "aps": {
                key: {"alias": name, "applies-to": ["states"], "type": {"type": "bool", "size": 1}}
                for key, name in exits.items()
            },
            "rewards": {
                "reward": {"alias": "reward", "applies-to": [entity], "type": kind},
            },
        },
    }
    return pack(
        {
            "index.json": json.dumps(index, indent=2, ensure_ascii=False).encode(),
            "state-to-choices.bin": _longs(flat.choices),
            "choice-to-branches.bin": _longs(flat.branches),
            "branch-to-target.bin": _longs(flat.target),
            "branch-to-probability.bin": _encoded(flat.prob, size),
            "state-is-initial.bin": _bits(np.arange(sizes[0]) == flat.initial),
            "actions/choices/values.bin": number.astype("<u4").tobytes(),
            **_text_files("actions/choices", strings),
            **{
                f"annotations/aps/{key}/states/values.bin": _bits(flat.labels[name])
                for key, name in exits.items()
            },
            f"annotations/rewards/reward/{entity}/values.bin": _encoded(reward, size),
        }
    )


def _rewards(flat: Flat) -> tuple[str, np.ndarray]:
    """Rewards of choices, where all branches of each choice pay the same, else of branches."""
    first = flat.reward[flat.branches[:-1]]
    same = np.repeat(first, np.diff(flat.branches)) == flat.reward
    return ("choices", first) if bool(same.all()) else ("branches", flat.reward)


def _marks(flat: Flat, exits: list[str]) -> dict[str, Any]:
    """Notes that make the model read back equal."""
    few = flat.state_names is not None and flat.n_states <= MOST_NAMES
    names = {"states": list(flat.state_names or ())} if few else {}
    return {"component": flat.component, "exits": exits, **names}


def _numbered(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The different texts in the order of their first use, and the number of each."""
    known: dict[str, int] = {}
    numbers = [known.setdefault(text, len(known)) for text in texts]
    return list(known), np.array(numbers, np.int64)


def _text_files(folder: str, texts: Sequence[str]) -> dict[str, bytes]:
    raw = [text.encode() for text in texts]
    ends = np.concatenate([[0], np.cumsum([len(text) for text in raw])])
    return {f"{folder}/string-mapping.bin": _longs(ends), f"{folder}/strings.bin": b"".join(raw)}


def _longs(values: np.ndarray) -> bytes:
    return np.asarray(values).astype("<u8").tobytes()


def _bits(mask: np.ndarray) -> bytes:
    padded = np.zeros(-(-len(mask) // 64) * 64, bool)
    padded[: len(mask)] = mask
    return np.packbits(padded, bitorder="little").tobytes()


def _size_of(flat: Flat) -> int:
    """Bits of a rational that holds all numbers of an exact model; 0 if they are floats."""
    if flat.prob.dtype != object:
        return 0
    return rational_size([*flat.prob.tolist(), *flat.reward.tolist()])


def rational_size(numbers: Iterable[Fraction]) -> int:
    """Bits of a rational that holds each of the numbers."""
    # One bit more: numerators have a sign.
    longest: int = max(
        max(abs(x.numerator).bit_length() + 1, x.denominator.bit_length()) for x in numbers
    )
    return -(-2 * longest // 128) * 128


def _encoded(values: np.ndarray, size: int) -> bytes:
    return encoded(values.tolist(), size) if size else values.astype("<f8").tobytes()


def encoded(values: Iterable[Fraction], size: int) -> bytes:
    """Rationals as bytes, of a number of bits each."""
    half = size // 16
    return b"".join(
        x.numerator.to_bytes(half, "little", signed=True) + x.denominator.to_bytes(half, "little")
        for x in values
    )


FORMAT = Format(
    "umb",
    "Unified Markov Binary, the exchange format of Storm, PRISM and Modest",
    (".umb",),
    read,
    write,
    takes=("goal", "rewards", "property"),
)
