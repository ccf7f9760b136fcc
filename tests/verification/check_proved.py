"""The checker that is extracted from a proof beside that in Python, on certificates good and bad.

Many: ``python -m tests.verification.check_proved 10000``, or ``... documents 5000`` for models.
"""

from __future__ import annotations

import copy
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.verification.check_tampering import certificates, tampered

import recurl
from recurl.errors import CertificateError, RecurlError
from recurl.model.certificate import Certificate
from recurl.verification import write_tables
from recurl.verification.proved import proved_program

ALONE = "accepted by the proof alone"
Document = dict[str, Any]
BY = [1e-14, -1e-14, 1e-9, -1e-9, 1e-3, -1e-3, 0.3, -0.3, 1.0, -1.0]
ODD: list[Any] = [
    0, -1, -(2**62), 2**40, 2**63, 10**400, 1e308, -1e308, 5e-324, 0.5, None, True, "1", [], {}, "x"
]  # fmt: skip


def judge(model: str | Path, given: list[bytes], folder: Path) -> list[dict[str, Any]]:
    """The verdicts of the proved checker on certificates for one model."""
    files = []
    for i, data in enumerate(given):
        files.append(folder / f"{i}.cert")
        files[-1].write_bytes(data)
    program = proved_program()
    assert program is not None
    command = [program, "--json", str(model), *map(str, files)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=600)
    lines = done.stdout.splitlines()
    assert done.returncode in (0, 1, 2), (done.returncode, done.stderr[-500:])
    assert len(lines) == len(given), (len(lines), done.stderr[-500:])
    return [json.loads(line) for line in lines]


def refusal(model: recurl.RMDP, data: bytes) -> str | None:
    """Why the checker in Python refuses a certificate; None if it accepts it."""
    try:
        recurl.verify(model, Certificate.decode(data))
    except CertificateError as error:
        return str(error)
    return None


# Changes of certificates


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all parts of a document."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node)
    if isinstance(node, dict | list):
        for key, value in items:
            yield from places(value, (*path, key))


def _at(node: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        node = node[key]
    return node


def _some(draw: random.Random, node: Document, fits: Callable[[Any], bool]) -> tuple[Any, Any]:
    """A random container and key whose value fits; fields as likely as what is in long lists."""
    for _ in range(50):
        inner: Any = node
        while isinstance(inner, dict | list) and inner:
            key = draw.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
            if fits(inner[key]) and (draw.random() < 0.6 or not isinstance(inner[key], list)):
                return inner, key
            inner = inner[key]
    return node, next(iter(node))


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)


def _number(draw: random.Random, given: Document) -> None:
    inside, key = _some(draw, given, _is_number)
    if _is_number(inside[key]):
        inside[key] += draw.choice(BY)


def _index(draw: random.Random, given: Document) -> None:
    inside, key = _some(draw, given, lambda x: type(x) is int)
    if type(inside[key]) is int:
        inside[key] += draw.choice([-1, 1, 2, 7])


def _odd(draw: random.Random, given: Document) -> None:
    inside, key = _some(draw, given, lambda _: True)
    inside[key] = draw.choice(ODD)


def _without(draw: random.Random, given: Document) -> None:
    inside, key = _some(draw, given, lambda _: True)
    del inside[key]


def _swapped(draw: random.Random, given: Document) -> None:
    inside, key = _some(draw, given, lambda x: isinstance(x, list) and len(x) > 1)
    if isinstance(inside[key], list) and len(inside[key]) > 1:
        row = inside[key]
        i, j = draw.randrange(len(row)), draw.randrange(len(row))
        row[i], row[j] = row[j], row[i]


def _longer(draw: random.Random, given: Document) -> None:
    inside, key = _some(draw, given, lambda x: isinstance(x, list) and bool(x))
    if isinstance(inside[key], list) and inside[key]:
        inside[key].append(copy.deepcopy(draw.choice(inside[key])))


def _forged_steps(draw: random.Random, given: Document) -> None:
    factor = draw.choice([0.0, 0.5, 0.999, -1.0])
    for part in (given, *given["pieces"]):
        part["steps"] = [x * factor for x in part["steps"] or []]


def _weights(draw: random.Random, given: Document) -> None:
    mixes = [mix for point in given["points"] for mix in point["calls"]] + given["start_points"]
    rows = [row for piece in given["pieces"] for row in piece["weights"] or []]
    if mixes and (draw.random() < 0.5 or not rows):
        mix = draw.choice(mixes)
        mix.append([mix[-1][0], draw.choice([0.0, 1.0, -1.0, 2.0])])
        mix[0][1] = draw.choice([-0.5, 0.0, 1.5, -1.0])
    elif rows:
        row = draw.choice(rows)
        row[draw.randrange(len(row))] = draw.choice([-0.1, 0.0, 1.0, 1.1])


def _claim(draw: random.Random, given: Document) -> None:
    for end in ("lower", "upper"):
        if given[end] is not None:
            given[end] += draw.choice(BY)


CHANGES = [
    _number, _number, _number, _index, _odd, _without, _swapped, _longer, _forged_steps, _weights,
    _claim,
]  # fmt: skip


FURTHER = [_number, _index, _odd, _without]


def changed(draw: random.Random, given: Certificate) -> tuple[str, bytes]:
    """A certificate that is changed in some way, and which."""
    if draw.random() < 0.1:
        forged = tampered(draw, given)
        return "forged", msgspec.json.encode(given if forged is None else forged[1])
    data = msgspec.json.encode(given)
    if draw.random() < 0.08:
        i, j = sorted(draw.randrange(len(data)) for _ in range(2))
        how = draw.randrange(3)
        text = (
            data[:i],
            data[:i] + data[j:],
            data[:i] + bytes([draw.randrange(256)]) + data[i + 1 :],
        )
        return "bytes", text[how]
    document = json.loads(data)
    change = draw.choice(CHANGES)
    change(draw, document)
    if draw.random() < 0.2:
        draw.choice(FURTHER)(draw, document)
    return change.__name__.lstrip("_"), json.dumps(document).encode()


def _excludes(given: Certificate, verdict: dict[str, Any]) -> bool:
    """Whether a proved interval has nothing in common with one that is known to hold."""
    known = [given.lower, given.upper]
    if given.infinite:
        known = [float(given.infinite)] * 2
    low, high = (math.nan if x is None else x for x in known)
    return float(verdict["lower"]) > high or float(verdict["upper"]) < low


def compare(
    model: recurl.RMDP, given: Certificate, draw: random.Random, each: int, said: Counter[str]
) -> None:
    """Compare both checkers on a certificate and on changes; AssertionError if one is wrong."""
    tries = [("unchanged", msgspec.json.encode(given))]
    tries += [changed(draw, given) for _ in range(each)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(model, folder / "model.json")
        verdicts = judge(folder / "model.json", [data for _, data in tries], folder)
    for (kind, data), verdict in zip(tries, verdicts, strict=True):
        proved, refused = verdict["verdict"] == "proved", refusal(model, data)
        if proved:
            assert not _excludes(given, verdict), (kind, verdict, data)
        if proved and refused is not None:
            said[f"{ALONE} ({kind}): {refused[:150]}"] += 1
        elif proved == (refused is None):
            said["both accept" if proved else "both refuse"] += 1
        else:
            said[f"refused by the proof: {verdict['text'].splitlines()[0][:90]} ({kind})"] += 1


def check(seed: int, each: int = 20) -> Counter[str]:
    """Compare both checkers on the certificates of a random model."""
    said: Counter[str] = Counter()
    draw = random.Random(seed)
    for model, certificate in certificates(seed):
        compare(model, certificate, draw, each, said)
    return said


def check_zoo(names: list[str], each: int) -> Counter[str]:
    """Compare both checkers on the certificates of named models."""
    said: Counter[str] = Counter()
    draw = random.Random(0)
    for name in names:
        model = getattr(recurl.zoo, name)()
        certificate = recurl.solve(model).certificate
        if certificate is not None:
            compare(model, certificate, draw, each, said)
    return said


# Changed documents of models


def _changed_document(draw: random.Random, data: bytes) -> bytes:
    if draw.random() < 0.3:
        i, j = sorted(draw.randrange(len(data)) for _ in range(2))
        return draw.choice(
            [data[:i], data[:i] + data[j:], data[:i] + bytes([draw.randrange(256)]) + data[i + 1 :]]
        )
    document = json.loads(data)
    draw.choice([_number, _odd, _without, _swapped, _longer, _renamed])(draw, document)
    return json.dumps(document).encode()


def _renamed(draw: random.Random, given: Document) -> None:
    inside, key = _some(draw, given, lambda x: isinstance(x, str))
    inside[key] = draw.choice(["", "x", "b1", "b1.u4", "u2", "1/2", "0.5", "é", "a.b.c"])


def check_documents(name: str, draw: random.Random, count: int) -> Counter[str]:
    """Change the document of a model: what is proved of it must be proved of what Python reads."""
    said: Counter[str] = Counter()
    model = getattr(recurl.zoo, name)()
    given = recurl.solve(model).certificate
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        recurl.dump(model, folder / "model.json")
        document = json.loads((folder / "model.json").read_text())
        document.pop("feature_names", None)  # the proved checker reads no features
        for component in document["components"].values():
            component.pop("features", None)
        data = json.dumps(document).encode()
        for _ in range(count):
            other = _changed_document(draw, data)
            (folder / "other.json").write_bytes(other)
            [verdict] = judge(folder / "other.json", [msgspec.json.encode(given)], folder)
            said[verdict["verdict"]] += 1
            if verdict["verdict"] == "proved":
                try:
                    found = recurl.load(folder / "other.json")
                    recurl.verify(found, msgspec.structs.replace(given, model=found.fingerprint))
                except RecurlError as error:
                    said[f"{ALONE}: {str(error).splitlines()[-1][:150]}"] += 1
    return said


def check_tables(name: str, draw: random.Random, count: int) -> Counter[str]:
    """Change the table file of a model: every one gets a verdict."""
    model = getattr(recurl.zoo, name)()
    given = msgspec.json.encode(recurl.solve(model).certificate)
    said: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_tables(model, folder / "model.json")
        data = (folder / "model.json").read_bytes()
        for _ in range(count):
            (folder / "other.json").write_bytes(_changed_document(draw, data))
            [verdict] = judge(folder / "other.json", [given], folder)
            said[verdict["verdict"]] += 1
    return said


def main() -> None:
    words = sys.argv[1:]
    said: Counter[str] = Counter()
    begin = time.monotonic()
    seed = int(words[2]) if len(words) > 2 else 0
    if words[0] == "documents":
        draw = random.Random(seed)
        names = ["cloud", "and_or", "stack_matters", "epidemic", "language"]
        for name in names:
            said += check_documents(name, draw, int(words[1]) // len(names))
    else:
        seed = int(words[1]) if len(words) > 1 else 0
        names = ["cloud", "and_or", "stack_matters", "taxi", "epidemic", "office", "palindrome"]
        said += check_zoo(names, 100)
        while said.total() < int(words[0]):
            said += check(seed)
            seed += 1
    for what, count in said.most_common():
        print(f"{count:6} {what}")
    print(f"{said.total()} in {time.monotonic() - begin:.0f} s, up to seed {seed}")


if __name__ == "__main__":
    main()
