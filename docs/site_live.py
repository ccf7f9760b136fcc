"""Gallery pages of the examples that do real work. They have no model, so a real run is shown.

The program is run again with what was learned, and its choices, calls and returns are recorded
as frames of the replay that reports have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from site_gallery import example, replay_block, summary_of, write_page

from recurl.programs.live import Live

LONGEST = 120
"""Frames of a run that are shown at most."""


class Recorded(Live):
    """A live program that records a greedy run, frame by frame."""

    def record(self, *arguments: Any) -> dict[str, Any]:
        """Run the function for real, and give the run as data for the replay."""
        self.frames: list[dict[str, Any]] = []
        self.shapes: dict[str, dict[str, list[Any]]] = {}
        self._stack: list[dict[str, str]] = []
        self._here = [("entries", "in", "")]
        self._last = 0.0
        self._shape(self.program.name)
        self.greedy(*arguments)
        self._frame(("exits", "end", ""), "return", [], "returns: the run ends")
        return {
            "model": self.program.name,
            "ended": len(self.frames) <= LONGEST,
            "components": {name: {**one, "more": {}} for name, one in self.shapes.items()},
            "frames": self.frames[:LONGEST],
        }

    def choose(self, options: tuple[Any, ...], frame: FrameType) -> Any:
        """The learner's choice, recorded."""
        chosen = super().choose(options, frame)
        node = ("nodes", f"line {frame.f_lineno}", "")
        self._frame(node, str(chosen), [str(one) for one in options], f"chooses {chosen}")
        return chosen

    def call(self, program: Any, arguments: Any, named: Any, frame: FrameType) -> Any:
        """A call, recorded with its return."""
        caller, box = self._frames[-1].name, f"line {frame.f_lineno}"
        self._frame(("boxes", box, "call"), "call", [], f"calls {program.name}", program.name)
        self._stack.append({"box": box, "component": caller, "calls": program.name})
        self._here.append(("entries", "in", ""))
        result = super().call(program, arguments, named, frame)
        self._here[-1] = ("boxes", box, "return")
        return result

    def _leave(self, program: Any, ports: list[int], index: int) -> None:
        name = str((*program.returns, "done")[index])
        self._frame(
            ("exits", name, ""), "return", [], f"returns {name} to {self._stack[-1]['box']}"
        )
        self._stack.pop()
        self._here.pop()
        super()._leave(program, ports, index)

    def _shape(self, name: str) -> dict[str, list[Any]]:
        made: dict[str, list[Any]] = {"entries": ["in"], "exits": [], "nodes": [], "boxes": []}
        return self.shapes.setdefault(name, made)

    def _frame(
        self,
        to: tuple[str, str, str],
        action: str,
        actions: list[str],
        event: str,
        calls: str = "",
    ) -> None:
        component, (part, name, _) = self._frames[-1].name, to
        drawn = {"name": name, "calls": calls} if part == "boxes" else name
        listed = self._shape(component)[part]
        if drawn not in listed:
            listed.append(drawn)
        self.frames.append(
            {
                "component": component,
                "vertex": name,
                "where": f"at {self._here[-1][1]}",
                "from": self._here[-1],
                "to": to,
                "actions": actions or [action],
                "exits": [],
                "context": "A real run: the learner knows what each result is worth to the caller.",
                "stack": list(self._stack),
                "action": action,
                "reward": self.total - self._last,
                "total": round(self.total, 9),
                "event": event,
            }
        )
        self._last, self._here[-1] = self.total, to


@dataclass(frozen=True)
class LiveEntry:
    """A page about an example that does real work.

    Attributes:
        name: Name of the example.
        episodes: How long it learns before the run that is shown.
        settings: Settings of its learner.
        program: Name of the function.
        arguments: Arguments of an episode, by its number.
    """

    name: str
    program: str
    episodes: int
    settings: dict[str, Any]
    arguments: Callable[[int], tuple[Any, ...]]
    note: str = (
        "The figure is that of a quick run. The example does real work, so that there is no "
        "certified optimum; the figure compares what was learned with what else one could do."
    )

    @property
    def title(self) -> str:
        """The file of the example."""
        return f"{self.name}.py"

    @property
    def summary(self) -> str:
        """Its docstring."""
        return summary_of(self.name)

    @property
    def commands(self) -> str:
        """The command that runs it."""
        return f"$ python examples/{self.name}.py --quick"

    def write(self, folder: Path, *, light: bool) -> None:
        """Writes the page, the figure of a quick run, and the replay of a real one."""
        module, common = example(self.name), example("common")
        plot, found = folder / f"{self.name}.png", ""
        if light:
            with common.Figure(common.Settings(plot=plot), "made by `make docs`"):
                pass
        else:
            numbers = module.main(common.Settings(quick=True, plot=plot))
            listed = ", ".join(f"{name} {value:.4g}" for name, value in numbers.items())
            found = f"**Found by a quick run.** {listed}."
        live = getattr(module, self.program).live(**self.settings)
        for number in range(50 if light else self.episodes):
            live(*self.arguments(number))
        shown = Recorded(live.program, live.learner).record(*self.arguments(0))
        run = "the program with what it learned"
        replay = replay_block(self.name, run, shown, None)
        write_page(folder, self, picture="png", found=found, replay=replay)


def live_entries() -> list[LiveEntry]:
    """The examples that do real work."""
    return [
        LiveEntry("retry_client", "page", 3_000, {"quantum": 0.5, "seed": 1}, lambda number: ()),
        LiveEntry("queens", "place", 300, {"quantum": 8.0, "seed": 1}, lambda number: (0, 6, [])),
        LiveEntry(
            "sort_tuning",
            "sort",
            200,
            {"seed": 0},
            lambda number: (next(example("sort_tuning").lists(number, 1, 60)),),
        ),
    ]
