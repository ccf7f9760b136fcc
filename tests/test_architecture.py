"""docs/architecture.md names files that exist, every room, and rooms in the order of imports."""

import re
from collections import Counter
from pathlib import Path

import check_imports

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:\w+/)*\w+(?:\.py|/))`", PAGE)))


def test_named_files_exist():
    places = (ROOT, ROOT / "src" / "recurl")
    assert len(PATHS) > 30
    assert [path for path in PATHS if not any((place / path).exists() for place in places)] == []


def test_names_of_forms_are_defined_where_the_page_says():
    forms = re.findall(r"^\| `(\w+)` \| `([\w/]+\.py)` \|", PAGE, re.MULTILINE)
    assert len(forms) > 5
    for name, path in forms:
        text = (ROOT / "src" / "recurl" / path).read_text(encoding="utf-8")
        assert re.search(rf"^class {name}\b", text, re.MULTILINE), (name, path)


def test_every_room_is_named_in_the_order_of_imports():
    table = PAGE.partition("## The rooms")[2].partition("## Where")[0]
    named = re.findall(r"`(\w+)(?:/|\.py)`", " ".join(re.findall(r"^\| (`.*?) \|", table, re.M)))
    folders = [p.name for p in (ROOT / "src" / "recurl").iterdir() if (p / "__init__.py").exists()]
    assert set(folders) <= set(named)
    ranks = [check_imports.RANK[room] for room in named if room in folders]
    assert ranks == sorted(ranks)


def test_the_readme_links_to_the_page():
    assert "(docs/architecture.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_one_name_is_one_thing():
    names = Counter()
    for file in (ROOT / "src" / "recurl").rglob("*.py"):
        names.update(re.findall(r"^class ([A-Za-z]\w*)", file.read_text(encoding="utf-8"), re.M))
    assert [name for name, count in names.items() if count > 1] == []
