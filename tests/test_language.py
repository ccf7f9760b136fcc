"""The prose of code and documentation is plain present-day technical English."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CHECKED = ["CHANGELOG.md", "README.md", "benchmarks", "docs", "examples", "scripts", "src"]

NEGATED = r"(?<!there )\b(is|are|was|were) no (?!longer\b|more\b)\w+"
"""``x is no y``; ``there is no y`` and ``no longer`` are fine."""

PHRASES = [
    NEGATED,
    r"\bafresh\b",
    r"\banew\b",
    r"\banybody\b",
    r"\bas can be\b",
    r"\bbelow notice\b",
    r"\bbut for\b",
    r"\bdawdl\w+",
    r"\bdivided by (blanks|commas|spaces|slashes|line breaks)\b",
    r"\belsewhere\b",
    r"\bfor ever\b",
    r"\bfor ever\b",
    r"\bfor people\b(?! (?:in|who)\b)",
    r"\bin vain\b",
    r"\binside of\b",
    r"\b(is|are|was|were) told\b",
    r"\bknows? of\b",
    r"\bmend\b",
    r"\bnobody\b",
    r"\bno such\b(?! file or directory)",
    r"\bnothing but\b",
    r"\bonce more\b",
    r"\boutside of\b",
    r"\bsays not\b",
    r"\bso[- ]many\b",
    r"\bso much\b",
    r"\bspeaks? of\b",
    r"\btells? of\b",
    r"\bto and fro\b",
    r"\btold of\b",
    r"\bwent astray\b",
    r"\bwho knows\b",
]
# One look for the beginning of a word, not one per phrase: a third of the time.
BEGINNINGS = "|".join(phrase.removeprefix(r"\b") for phrase in PHRASES)
FORBIDDEN = re.compile(rf"\b(?:{BEGINNINGS})", re.IGNORECASE)


def forbidden_phrases(text: str) -> list[str]:
    """Phrases of a text that should be said plainly, line breaks and comment signs ignored."""
    return [match[0] for match in FORBIDDEN.finditer(re.sub(r"[\s#]+", " ", text))]


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Docstrings, and the texts below attributes and constants."""
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value


def files() -> list[Path]:
    places = [ROOT / place for place in CHECKED]
    found = [f for p in places for f in (p.rglob("*") if p.is_dir() else [p])]
    made = ROOT / "docs" / "gallery"  # pages below it are written by `make docs`
    return sorted(f for f in found if f.suffix in (".md", ".py") and made not in f.parent.parents)


def test_a_phrase_is_found_across_lines_and_comments():
    assert forbidden_phrases("the text\nis no number") == ["is no number"]
    assert forbidden_phrases("# so\n    # many of them") == ["so many"]
    assert forbidden_phrases("there is no key, and it is no longer read") == []


def test_docstrings_include_the_texts_below_constants():
    source = '"""A."""\nX = 1\n"""B."""\ndef f():\n    """C."""\n    return "D"\n'
    assert list(docstrings(ast.parse(source))) == ["A.", "B.", "C."]


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_prose_is_plain(file):
    text = file.read_text(encoding="utf-8")
    assert forbidden_phrases(text) == []
    if file.suffix == ".py":
        starts = [d[:60] for d in docstrings(ast.parse(text)) if re.match(r"What(ever)?\b", d)]
        assert starts == []
