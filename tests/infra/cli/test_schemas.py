"""`xingqiao schema`."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from xingqiao import composer

SLOW = {"$schema": "composition.schema.json", **composer.timeout(5, composer.value(1)).to_json()}


def test_a_schema_is_printed_as_json(command):
    ended = command("schema", "composition")

    assert ended.code == 0, ended.err
    Draft202012Validator.check_schema(ended.json)
    assert Draft202012Validator(ended.json).is_valid(SLOW)


def test_a_file_that_names_its_schema_can_be_run(command, tmp_path):
    file = tmp_path / "slow.json"
    file.write_text(json.dumps(SLOW), "utf-8")

    ended = command("run", file, "--json")

    assert (ended.code, ended.json["result"]) == (0, {"value": 1})


@pytest.mark.parametrize("arguments", [[], ["workflow"]])
def test_an_unknown_document_is_refused(command, arguments):
    ended = command("schema", *arguments)

    assert ended.code == 2
    assert "composition" in ended.err
