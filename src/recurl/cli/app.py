"""The command ``recurl``: collects the verbs and settles how they end.

To add a verb: write ``cli/NAME.py`` with a function ``NAME`` (typed as typer reads it; the first
paragraph of its docstring is its help) and a text ``EXAMPLES``, and add the name to `VERBS`. What
is heavy is imported inside the function, so that no verb waits for another one's packages.

Exit codes: 0 done, 1 a negative answer or an error, 2 a command line that makes no sense, 3 an open
end of an interval, 130 interrupted, 141 the reader of the output is gone.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from recurl import progress
from recurl.cli.output import UsageError, complain
from recurl.errors import QuestionError, RecurlError, UnknownNameError
from recurl.interrupts import EXIT_CODE, farewell, is_command
from recurl.version import __version__

VERBS = (
    "zoo",
    "check",
    "describe",
    "simulate",
    "solve",
    "learn",
    "pac",
    "evaluate",
    "explain",
    "reproduce",
    "experiment",
    "tune",
    "report",
    "suite",
    "analyse",
    "verify",
    "convert",
    "formats",
    "schema",
)

UNREAD = 141

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help and errors: they read the same in a terminal, in a pipe and in a log.
    rich_markup_mode=None,
)


def guarded(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with its errors turned into one message and an exit code."""

    @functools.wraps(verb)
    def run(*arguments: object, **options: object) -> None:
        try:
            with farewell(_stopped):
                verb(*arguments, **options)
                sys.stdout.flush()
        except (UsageError, UnknownNameError, QuestionError) as error:
            _end(2, str(error))
        except BrokenPipeError:
            _silence_stdout()
            _end(UNREAD)
        except (RecurlError, OSError, MemoryError) as error:
            _end(1, str(error))
        except KeyboardInterrupt:
            _end(EXIT_CODE)

    return run


def _stopped() -> str:
    """Where a verb was interrupted that has nothing to save."""
    doing = progress.activity()
    return f"Stopped while {doing}." if doing else "Stopped."


def _end(code: int, message: str = "") -> None:
    if message:
        complain(message)
    raise typer.Exit(code)


def _silence_stdout() -> None:
    """Let the interpreter flush what is left into the void when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _register(name: str) -> None:
    module = importlib.import_module(f"recurl.cli.{name}")
    # \b keeps the lines of the examples apart.
    examples = f"\b\nExamples:\n{module.EXAMPLES}"
    app.command(name, epilog=examples)(guarded(getattr(module, name)))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"recurl {__version__}")
        raise typer.Exit


@app.callback(epilog="\b\nExamples:\n  recurl zoo\n  recurl solve cloud\n  recurl simulate cloud")
def _recurl(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Optimal decisions in systems that call themselves.

    MODEL is a name listed by `recurl zoo`, with KEY=VALUE parameters, or a file. Every verb takes
    --json for machines, and --help.
    """


def _asked() -> tuple[str, ...]:
    """The verb that this command runs; all of them for help, completion and other programs."""
    named = tuple(sys.argv[1:2])
    return named if is_command() and set(named) & set(VERBS) else VERBS


for _verb in _asked():
    _register(_verb)
