"""docs/architecture.md names files that exist, every room, and rooms in the order of imports."""

import ast
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


def test_names_with_an_underscore_are_our_own() -> None:
    """What a library calls private may go with its next release.

    Of named tuples and processes they are public. The stamp of compiled kernels has no other door.
    """
    public = {"_replace", "_asdict", "_fields", "_exit"}
    kernels = {"_cache", "_cache_file", "_source_stamp"}
    trees = [
        ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "src").rglob("*.py"))
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name)}
    own |= {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("self", "made")
    }
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            used |= {*(node.module or "").split("."), *(alias.name for alias in node.names)}
    private = {name for name in used if name.startswith("_") and not name.endswith("__")}
    assert private - own - public - kernels == set()
