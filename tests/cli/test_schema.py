"""``recurl schema``."""

from __future__ import annotations

import json

import jsonschema

from recurl.model.document import dumps
from recurl.model.document.schema import schema
from recurl.zoo import cloud

from .conftest import Run, RunJson


def test_the_schema_is_printed_and_accepts_a_document(run: Run, run_json: RunJson) -> None:
    printed = run_json("schema")
    assert printed == json.loads(run("schema").stdout) == schema()
    jsonschema.validate(json.loads(dumps(cloud(), "json")), printed)
