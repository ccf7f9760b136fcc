"""The command line: one file per verb, collected by `recurl.cli.app`."""

from __future__ import annotations

import sys

from recurl import interrupts


def main() -> None:
    """Run the command line of this process, and end it with the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows another one instead of failing.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    from recurl.cli.app import app

    try:
        app(prog_name="recurl")
    except SystemExit as end:
        if end.code == interrupts.EXIT_CODE:
            interrupts.leave()  # without waiting for threads that compile
        raise
    finally:
        interrupts.ignore()
