"""Retries in a call graph: when to try again, fail fast or go on without an answer.

Services call services that call themselves. Every call can fail, and every request costs. The best
reaction to a failure depends on who called: it is computed, with a certificate, and compared with
fixed numbers of attempts and with retry budgets. Then a client learns the same against a local HTTP
server that fails on purpose, and goes on learning when the failure rate changes.

    python examples/retries.py [--quick] [--plot retries.png] [--traces calls.csv]
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from call_graphs import Call, Graph, Service, drawn, nesting, read_traces, sampled
from common import Figure, Settings, options
from flaky_server import Client, ServiceError, flaky_client

import recurl
from recurl import choose, outcome, program, reward

ATTEMPTS, LOST, BUDGET, OUTAGE, BROKEN = 4, 60.0, 0.2, 0.9, 0.7
RETRY, WITHOUT, FAIL = "retry", "go on without", "fail fast"


def model(graph: Graph, counted: str | None = None) -> recurl.RMDP:
    """The call graph as a model: a component per service, whose exits are `ok` and `failed`.

    Rewards are minus the costs; or, if a service is counted, minus its requests.
    """
    pays = float(counted is None)
    builder = recurl.Builder("calls").component(
        "the user", entries="in", exits=["answered", "lost"]
    )
    builder.at("in").action("ask").to(f"{graph.root} #1")
    _attempts(builder, graph.root, ("answered", "lost"), None, LOST * pays)
    for name, service in graph.services.items():
        cost = service.cost * pays + (name == counted)
        places = [f"ask {call.to}" for call in service.calls] + ["ok"]
        builder.component(name, entries="in", exits=["ok", "failed"])
        builder.at("in").action("work", reward=-cost)
        _either(builder, places[0], 1 - service.failure, "failed")
        for place, after, call in zip(places, places[1:], service.calls, strict=False):
            _either(builder.at(place).action("go"), f"{call.to} #1", call.chance, after)
            without = None if call.without is None else call.without * pays
            _attempts(builder, call.to, (after, "failed"), without, 0)
    return builder.build()


def _either(builder: recurl.Builder, likely: str, chance: float, other: str) -> None:
    for target, p in ((likely, Fraction(str(chance))), (other, 1 - Fraction(str(chance)))):
        if p:
            builder.to(target, p)


def _attempts(
    builder: recurl.Builder,
    service: str,
    ways: tuple[str, str],
    without: float | None,
    lost: float,
) -> None:
    """Boxes for the attempts of a call, and what may be done when one of them fails."""
    for attempt in range(1, ATTEMPTS + 1):
        box = f"{service} #{attempt}"
        builder.box(box, service).at(f"{box}.ok").action("go").to(ways[0]).at(f"{box}.failed")
        if attempt < ATTEMPTS:
            builder.action(RETRY).to(f"{service} #{attempt + 1}")
        if without is not None:
            builder.action(WITHOUT, reward=-without).to(ways[0])
        builder.action(FAIL, reward=-lost).to(ways[1])


def failures(calls: recurl.RMDP) -> dict[int, tuple[str, int]]:
    """Vertices at which a call has failed, with the service that was called and the attempt."""
    found = {}
    for vertex in range(calls.tables.n_vertices):
        _, *port = calls.vertex_name(vertex).split(".")
        if port[1:] == ["failed"]:
            service, _, attempt = port[0].rpartition(" #")
            found[vertex] = service, int(attempt)
    return found


def fixed(calls: recurl.RMDP, attempts: int) -> recurl.Policy:
    """The same number of attempts of every call; then go on without it, if possible."""
    actions = {}
    for vertex, (_, attempt) in failures(calls).items():
        last = WITHOUT if WITHOUT in calls.action_names(vertex) else FAIL
        actions[calls.vertex_name(vertex)] = RETRY if attempt < attempts else last
    return recurl.Policy.stackless(calls, actions)


@dataclass(frozen=True)
class Day:
    """A day: cost per page, share of pages answered, requests per page on a watched service."""

    cost: float
    answered: float
    load: float


def exact_day(graph: Graph, policy: recurl.Policy, watched: str) -> Day:
    """The expectations of a policy, without sampling."""
    day = recurl.evaluate(policy.changed(model(graph)))
    load = recurl.evaluate(policy.changed(model(graph, watched)))
    return Day(-day.value, day.exit_probabilities["answered"], -load.value)


def budget_day(graph: Graph, watched: str, pages: int, seed: int = 0) -> Day:
    """Pages with a retry budget: retries of a service are at most a fifth of its first attempts."""
    calls, first, again = model(graph), Counter[str](), Counter[str]()
    at, plain = failures(calls), fixed(calls, 1)
    walk, total, answered = recurl.Walk(calls, np.random.default_rng(seed)), 0.0, 0
    for _ in range(pages):
        walk.restart()
        while not walk.ended:
            service, attempt = at.get(walk.vertex, ("", ATTEMPTS))
            retry = attempt < ATTEMPTS and again[service] < BUDGET * first[service]
            step = walk.step(0 if retry else plain.action(walk.vertex))
            total += step.reward
            if retry:
                again[service] += 1
            elif step.event == "call":
                first[calls.vertex_name(walk.vertex).partition(".")[0]] += 1
        answered += step.exit == 0
    return Day(-total / pages, answered / pages, (first + again)[watched] / pages)


@dataclass(frozen=True)
class Comparison:
    """Policies by name on a normal day and in an outage; the width of the certified interval."""

    watched: str
    normal: dict[str, Day]
    outage: dict[str, Day]
    policy: recurl.Policy
    width: float


def compare(graph: Graph, pages: int) -> Comparison:
    """All policies, on a normal day and while the busiest service below the root is down."""
    calls = model(graph)
    loads = {name: exact_day(graph, fixed(calls, 1), name).load for name in graph.services}
    watched = max((name for name in loads if name != graph.root), key=lambda name: loads[name])
    broken = graph.with_failure(watched, OUTAGE)
    solved, adapted = (certified(model(g)) for g in (graph, broken))
    policies = {f"{n} attempt{'s' * (n > 1)}": fixed(calls, n) for n in range(1, ATTEMPTS + 1)}
    normal = {name: exact_day(graph, policy, watched) for name, policy in policies.items()}
    outage = {name: exact_day(broken, policy, watched) for name, policy in policies.items()}
    normal["retry budget 20 %"] = budget_day(graph, watched, pages)
    outage["retry budget 20 %"] = budget_day(broken, watched, pages)
    normal["by caller"] = exact_day(graph, solved.policy, watched)
    outage["by caller, as on a normal day"] = exact_day(broken, solved.policy, watched)
    outage["by caller"] = exact_day(broken, adapted.policy, watched)
    return Comparison(watched, normal, outage, solved.policy, max(solved.gap, adapted.gap))


def certified(calls: recurl.RMDP) -> recurl.Solution:
    """The optimum, whose certificate the independent checker accepts."""
    solution = recurl.solve(calls, epsilon=1e-4)
    verdict = recurl.verify(calls, solution.certificate)
    assert verdict.upper - verdict.lower < 1e-3
    return solution


SHOP = Graph(
    {
        "shop": Service(0.05, 1.0, (Call("offers", 1.0, None), Call("reviews", 1.0, 5.0))),
        "offers": Service(0.05, 1.0, (Call("item", 1.0, None),)),
        "reviews": Service(0.05, 1.0, (Call("item", 1.0, None),)),
        "item": Service(0.1, 2.0, (Call("item", 0.4, None),)),
    }
)
"""A page of a shop: offers are needed, reviews are not, and items have parts that are items."""


class World:
    """The connection of the live client, and the draws of what its requests need."""

    def __init__(self, client: Client, seed: int) -> None:
        self.client, self.random = client, random.Random(seed)


def pages(world: World) -> recurl.Program:
    """The client: the same decisions as in the model, and real requests."""

    @program
    def page():
        for attempt in range(1, ATTEMPTS + 1):
            if request(SHOP.root):
                return
            if attempt == ATTEMPTS or choose(RETRY, FAIL) == FAIL:
                break
        reward(-LOST)

    @program(observe=("name", "to"), returns=(True, False))
    def request(name):
        service, to = SHOP.services[name], ""
        reward(-service.cost)
        if isinstance(outcome(lambda: world.client.get(name), ServiceError), ServiceError):
            return False
        for call in service.calls:
            to, done, left = call.to, world.random.random() >= call.chance, ATTEMPTS
            while not done:
                done, left = request(to), left - 1
                if not done:
                    ways = (RETRY,) * (left > 0) + (WITHOUT,) * (call.without is not None) + (FAIL,)
                    how = choose(*ways)
                    if how == FAIL:
                        return False
                    if how == WITHOUT:
                        reward(-call.without)
                        done = True
        return True

    return page


@dataclass(frozen=True)
class Learned:
    """Costs per page: while learning, and of greedy pages before and after the change."""

    costs: np.ndarray
    before: float
    after: float


def learned(episodes: int, tests: int, seed: int = 0, **settings: Any) -> Learned:
    """Learn against the server; after half of the pages, items fail much more often."""
    rates = {name: service.failure for name, service in SHOP.services.items()}
    with flaky_client(rates, seed) as (server, client):
        live = pages(World(client, seed)).live(seed=seed, **settings)
        costs, greedy = [], []
        for rate in (rates["item"], BROKEN):
            server.failures["item"] = rate
            for _ in range(episodes // 2):
                live()
                costs.append(-live.total)
            total = 0.0
            for _ in range(tests):
                live.greedy()
                total -= live.total
            greedy.append(total / tests)
    return Learned(np.array(costs), *greedy)


def tower(levels: int) -> float:
    """Requests on a service that is down, if every level above it makes all its attempts."""
    names = [f"level {i}" for i in range(levels)]
    calls = [(Call(name, 1.0, None),) for name in names[1:]] + [()]
    failures = [0.0] * (levels - 1) + [1.0]
    services = [Service(f, 1.0, c) for f, c in zip(failures, calls, strict=True)]
    graph = Graph(dict(zip(names, services, strict=True)))
    return exact_day(graph, fixed(model(graph), ATTEMPTS), names[-1]).load


def study(graphs: list[Graph], walks: int) -> list[Comparison]:
    """Compare the policies on every graph, and print the means."""
    found = [compare(graph, walks) for graph in graphs]
    nested = [nesting(list(sampled(graph, 100))) for graph in graphs]
    print(
        f"{len(graphs)} call graphs; in {sum(g.recursive for g in graphs)} a service is called "
        f"below itself, up to depth {max(nested)} in 100 requests each"
    )
    print(f"{'means over all graphs':30} normal day: cost   outage: cost  answered  load")
    for name in found[0].outage:
        normal = np.mean([c.normal[name].cost for c in found]) if name in found[0].normal else None
        days = [c.outage[name] for c in found]
        cost, answered, load = (
            float(np.mean([getattr(day, field) for day in days]))
            for field in ("cost", "answered", "load")
        )
        shown = f"{normal:16.2f}" if normal is not None else " " * 16
        print(f"{name:30} {shown} {cost:14.2f} {answered:9.1%} {load:5.2f}")
    return found


def show_rules(policy: recurl.Policy) -> None:
    """Print the decisions that depend on the caller, of those that runs come to."""
    rows = [row for row in policy.table() if row.visits.mean > 1e-7]
    depends = [row for row in rows if row.context]
    count = len({row.vertex for row in depends})
    print(f"{count} of {len({row.vertex for row in rows})} decisions depend on the caller, such as")
    short = [row for row in depends if len(row.context) < 45]
    for row in sorted(short, key=lambda row: row.vertex):
        if sum(other.vertex == row.vertex for other in short) > 1:
            print(f"  {row.vertex:26} {row.context:45} {row.action}")


def draw_outage(wanted: Settings, found: Comparison) -> None:
    """Two bars for each policy: load on the broken service, pages lost."""
    title = f"While one service fails {10 * OUTAGE:.0f} times in 10"
    days = {name: day for name, day in found.outage.items() if "normal" not in name}
    colours = ["tab:gray"] * (len(days) - 1) + ["tab:green"]
    with Figure(wanted, title, panels=2) as (left, right):
        for axes, values, unit in (
            (left, [day.load for day in days.values()], "{:.1f}"),
            (right, [100 * (1 - day.answered) for day in days.values()], "{:.0f} %"),
        ):
            names = [*list(days)[:-1], "depends on who called\n(certified best)"]
            bars = axes.barh(names, values, color=colours)
            axes.bar_label(bars, [unit.format(value) for value in values], padding=3)
            axes.margins(x=0.15)
            axes.spines[["top", "right"]].set_visible(False)
            axes.invert_yaxis()
        left.set_title("requests on it, per page", fontsize="medium")
        right.set_title("pages lost", fontsize="medium")
        right.set_yticklabels([])


def adapt(wanted: Settings) -> dict[str, float]:
    """Learn against the local server, and draw the costs beside what is known exactly."""
    episodes, tests = (1_200, 200) if wanted.quick else (8_000, 1_000)
    run = learned(episodes, tests, learning_rate=0.1, exploration=0.1, quantum=2.0)
    before, after = certified(model(SHOP)), certified(model(SHOP.with_failure("item", BROKEN)))
    frozen = -recurl.evaluate(before.policy.changed(after.model)).value
    print(
        f"live, items fail with 10 %: learned {run.before:.2f} per page, best {-before.value:.2f}"
    )
    print(
        f"live, items fail with 70 %: learned {run.after:.2f} per page, best {-after.value:.2f}, "
        f"without learning on {frozen:.2f}"
    )
    beside = wanted.plot and wanted.plot.with_stem(f"{wanted.plot.stem}_live")
    with Figure(Settings(plot=beside), "A client that learns while it works") as axes:
        width = episodes // 20
        mean = np.convolve(run.costs, np.ones(width) / width, "valid")
        axes.plot(np.arange(width - 1, episodes), mean, label="learning, with 10 % exploration")
        half = episodes // 2
        for colour, costs, label in (
            ("tab:green", (-before.value, -after.value), "best (certified)"),
            ("tab:red", (-before.value, frozen), "best before the change, kept"),
        ):
            axes.hlines(costs, [0, half], [half, episodes], colour, "--", label=label)
        axes.axvline(half, color="black", linewidth=0.8)
        axes.annotate(
            "items now fail 7 times in 10", (half, 2), xytext=(5, 0), textcoords="offset points"
        )
        axes.set(xlabel="pages", ylabel="cost per page", ylim=(0, None))
        axes.legend(loc="upper left")
    return {
        "before": run.before,
        "best before": -before.value,
        "after": run.after,
        "best after": -after.value,
        "frozen": frozen,
    }


def main(wanted: Settings, traces: Path | None = None) -> dict[str, float]:
    print(f"{ATTEMPTS} attempts at 3 levels: {tower(3):.0f} requests on the service below")
    shown = drawn(5, recursive=True) if traces is None else read_traces(traces)
    rest = [] if wanted.quick or traces else [drawn(i, i < 13) for i in range(17) if i != 5]
    found = study([shown, *rest], 1_000 if wanted.quick else 3_000)[0]
    print(f"the graph that is drawn, with {found.watched} failing in {OUTAGE:.0%} of its calls:")
    for name, day in found.outage.items():
        print(
            f"  {name:30} cost {day.cost:6.2f}  answered {day.answered:7.2%}  load {day.load:5.2f}"
        )
    show_rules(found.policy)
    draw_outage(wanted, found)
    days = {"tower": tower(3), "width": found.width}
    for name, day in found.outage.items():
        days |= {
            f"{name}: cost": day.cost,
            f"{name}: answered": day.answered,
            f"{name}: load": day.load,
        }
    return days | adapt(wanted)


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--traces", type=Path, help="CSV of traces, instead of drawn call graphs")
    given = parser.parse_args()
    main(Settings(given.quick, given.plot), given.traces)
