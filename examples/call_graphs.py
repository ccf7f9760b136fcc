"""Call graphs of services: drawn at random with the features of public traces, or read from a CSV.

A service does some work of its own, which may fail, and then calls other services in order. Each
call is made with some probability, and the answer may be worth something without it.
"""

from __future__ import annotations

import csv
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

Key = tuple[str, str]
"""A trace and a call of it."""
COLUMNS = ("trace", "call", "parent", "service", "failed", "cost")
OPTIONAL = "without"


@dataclass(frozen=True)
class Call:
    """A call of another service.

    Attributes:
        to: The service that is called.
        chance: Probability that a request makes this call.
        without: What an answer without this part costs; None if there is no answer without it.
    """

    to: str
    chance: float
    without: float | None


@dataclass(frozen=True)
class Service:
    """A service: how often its own work fails, what a request costs, and what it calls."""

    failure: float
    cost: float
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Graph:
    """Services by name; requests of users go to the first one."""

    services: dict[str, Service]

    @property
    def root(self) -> str:
        return next(iter(self.services))

    @property
    def recursive(self) -> bool:
        """Whether a service can be called below itself."""
        return any(name in self._below(name) for name in self.services)

    def _below(self, name: str) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            called = {call.to for call in self.services[waiting.pop()].calls} - found
            found |= called
            waiting += sorted(called)
        return found

    def with_failure(self, name: str, failure: float) -> Graph:
        """The same graph, with another failure rate of one service."""
        changed = replace(self.services[name], failure=failure)
        return Graph({**self.services, name: changed})


NAMES = ["web", "cart", "catalog", "search", "prices", "stock", "items", "images", "reviews"]


def drawn(seed: int, recursive: bool) -> Graph:
    """A call graph drawn at random.

    Services form a tree; some get a second caller. If it is to be recursive, the deepest service
    calls one of those above it or itself, and another one calls itself. Failure rates lie between
    2 % and 15 %, a request costs between 0.5 and 2, forward calls are made with probability 0.5 to
    1, recursive ones with 0.35 to 0.5. An answer without a part costs between 1 and 12; one call in
    four cannot be left out.
    """
    rng = random.Random(seed)
    names, services = NAMES, len(NAMES)
    parents = [0] + [rng.randrange(max(0, i - 3), i) for i in range(1, services)]
    edges = [(parents[i], i, rng.uniform(0.5, 1)) for i in range(1, services)]
    for _ in range(services // 3):
        low, high = sorted(rng.sample(range(services), 2))
        edges.append((low, high, rng.uniform(0.5, 1)))
    if recursive:
        edges.append((services - 1, parents[-1], rng.uniform(0.35, 0.5)))
        selfish = rng.randrange(1, services - 1)
        edges.append((selfish, selfish, rng.uniform(0.35, 0.5)))
    calls: dict[int, dict[int, Call]] = defaultdict(dict)
    for caller, callee, chance in edges:
        without = None if rng.random() < 0.4 else round(rng.uniform(1, 12), 1)
        calls[caller].setdefault(callee, Call(names[callee], round(chance, 2), without))
    return Graph(
        {
            name: Service(
                round(rng.uniform(0.02, 0.15), 3),
                round(rng.uniform(0.5, 2), 2),
                tuple(calls[i].values()),
            )
            for i, name in enumerate(names)
        }
    )


def sampled(graph: Graph, traces: int, seed: int = 0) -> Iterator[dict[str, str]]:
    """Rows of a CSV of traces: requests to the graph without retries; failures are passed on."""
    rng = random.Random(seed)

    def request(trace: int, parent: str, name: str) -> Iterator[dict[str, str]]:
        service, number = graph.services[name], str(next(numbers))
        failed, below = rng.random() < service.failure, []
        for call in service.calls:
            if not failed and rng.random() < call.chance:
                rows = list(request(trace, number, call.to))
                below += [{**rows[0], OPTIONAL: _number(call.without)}, *rows[1:]]
                failed = rows[0]["failed"] == "1" and call.without is None
        values = (str(trace), number, parent, name, str(int(failed)), str(service.cost))
        yield {**dict(zip(COLUMNS, values, strict=True)), OPTIONAL: ""}
        yield from below

    for trace in range(traces):
        numbers = iter(range(10**6))
        yield from request(trace, "", graph.root)


def _number(value: float | None) -> str:
    return "" if value is None else str(value)


def nesting(rows: list[dict[str, str]]) -> int:
    """The deepest nesting of a service below itself; 1 if none is called below itself."""
    deepest, above = 0, {}
    for row in rows:
        key = row["trace"], row["call"]
        above[key] = [*above.get((row["trace"], row["parent"]), []), row["service"]]
        deepest = max(deepest, above[key].count(row["service"]))
    return deepest


def write_traces(path: Path, rows: Iterator[dict[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*COLUMNS, OPTIONAL])
        writer.writeheader()
        writer.writerows(rows)


def read_traces(path: Path) -> Graph:
    """The call graph of traces in a CSV.

    A row is a call: `trace` and `call` name it, `parent` is the call that made it (empty for the
    request of a user), then `service`, `failed` (0 or 1) and `cost` (of its own work: milliseconds,
    money). A column `without` may say what an answer without this call costs; empty means that
    there is none. Without that column, no call can be left out.

    A call failed by itself if none of the calls below it failed. Repeated calls of one service by
    one parent are taken for retries.

    Raises:
        ValueError: With the file, the line and what to write instead.
    """
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise ValueError(
                f"{path}: there is no column {', '.join(missing)}: the first line must name "
                f"{','.join(COLUMNS)} and may name {OPTIONAL}"
            )
        rows = {}
        for row in reader:
            key = row["trace"], row["call"]
            if key in rows:
                raise _wrong(
                    path, reader.line_num, f"call {key[1]} of trace {key[0]} is there twice"
                )
            rows[key] = _checked(path, reader.line_num, row)
    if not rows:
        raise ValueError(f"{path}: there are no calls: write a line for each")
    return _estimated(path, rows)


@dataclass(frozen=True)
class _Row:
    line: int
    parent: Key | None
    service: str
    failed: bool
    cost: float
    without: float | None


def _wrong(path: Path, line: int, problem: str) -> ValueError:
    return ValueError(f"{path}, line {line}: {problem}")


def _checked(path: Path, line: int, row: dict[str, str]) -> _Row:
    if row["failed"] not in ("0", "1"):
        raise _wrong(path, line, f"failed is {row['failed']!r}: write 0 or 1")
    name = (row["service"] or "").strip()
    if not name or "." in name:
        raise _wrong(path, line, f"service is {name!r}: write a name without dots")
    numbers = {}
    for column in ("cost", OPTIONAL):
        text = row.get(column) or ""
        try:
            numbers[column] = float(text) if text or column == "cost" else None
        except ValueError:
            numbers[column] = float("nan")
        if numbers[column] is not None and not 0 <= numbers[column] < float("inf"):
            raise _wrong(path, line, f"{column} is {text!r}: write a number that is not negative")
    parent = (row["trace"], row["parent"]) if row["parent"] else None
    failed = row["failed"] == "1"
    return _Row(line, parent, name, failed, numbers["cost"], numbers[OPTIONAL])


def _estimated(path: Path, rows: dict[Key, _Row]) -> Graph:
    """Rates and means by service and by pair of services, the most common root first."""
    made: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    paid: Counter[str] = Counter()
    roots: Counter[str] = Counter()
    asked: dict[Key, dict[Key, _Row]] = defaultdict(dict)
    done: dict[str, set[Key]] = defaultdict(set)
    blamed = {row.parent for row in rows.values() if row.failed}
    for key, row in rows.items():
        made[row.service] += 1
        if not row.failed:
            done[row.service].add(key)
        paid[row.service] += row.cost
        broken[row.service] += row.failed and key not in blamed
        if row.parent is None:
            roots[row.service] += 1
        elif row.parent not in rows:
            raise _wrong(path, row.line, f"parent {row.parent[1]!r} is not a call of this trace")
        else:
            asked[rows[row.parent].service, row.service].setdefault(row.parent, row)
    if not roots:
        raise ValueError(f"{path}: no call has an empty parent: leave it empty for users' requests")
    root = roots.most_common(1)[0][0]
    order = [root, *(name for name in made if name != root)]
    return Graph(
        {
            name: Service(
                broken[name] / made[name],
                paid[name] / made[name],
                tuple(
                    _call(callee, calls, {key for key in done[name] if key not in calls})
                    for (caller, callee), calls in asked.items()
                    if caller == name
                ),
            )
            for name in order
        }
    )


def _call(callee: str, calls: dict[Key, _Row], skipped: set[Key]) -> Call:
    """A call that some callers made and others, which went through to the end, did not need."""
    given = [row.without for row in calls.values() if row.without is not None]
    without = sum(given) / len(given) if len(given) == len(calls) else None
    return Call(callee, len(calls) / (len(calls) + len(skipped)), without)
