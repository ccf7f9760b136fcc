"""Makes the pictures of the docs from what the commands really print.

python scripts/make_pictures.py
"""

from __future__ import annotations

import html
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

FOLDER = Path(__file__).parents[1] / "docs" / "images"
WIDTH = 96

PICTURES = {
    "solve.svg": [
        "recurl describe cloud --component H",
        "recurl solve cloud --policy best.json --certificate cloud.cert",
        "recurl verify cloud cloud.cert",
        "recurl simulate cloud --policy best.json",
    ],
}

# Pictures load nothing from other places; without these rules they use the reader's own font.
FONT_RULES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def printed(command: str, folder: Path) -> str:
    """The output of a command on a coloured terminal."""
    arguments = [sys.executable, "-m", *command.split()]
    environment = os.environ | {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    done = subprocess.run(
        arguments, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return done.stdout.rstrip("\n")


def picture(commands: list[str]) -> str:
    """An SVG of a terminal in which commands were typed one after the other."""
    screen = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            screen.print(Text(f"$ {command}", style="bold green"))
            screen.print(Text.from_ansi(printed(command, Path(folder))), "")
    return FONT_RULES.sub("", screen.export_svg(title="recurl", unique_id="recurl"))


def words(svg: str) -> list[str]:
    """The lines that a picture shows, with any times in it made the same."""
    lines: dict[str, str] = {}
    for place, text in re.findall(r'y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        lines[place] = lines.get(place, "") + html.unescape(text)
    shown = "\n".join(lines.values()).replace("\xa0", " ")
    # A time may be cut by the end of a line, and its length moves that end.
    return re.sub(r"\bin\s+[\d.e-]+\s+s\b", "in T s", shown).split()


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, commands in PICTURES.items():
        (FOLDER / name).write_text(picture(commands), encoding="utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
