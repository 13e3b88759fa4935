"""Stored programs are known by their hash, so what a composition becomes stays as it is.

`catalog.json` holds what each composition of the catalog became when it was recorded: the hash of its
program, and digests of its JSON, its drawings, and its state machine or why there is none.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.composer.dsl.catalog import CATALOG
from xingqiao import composer
from xingqiao.composer.dsl import combinators
from xingqiao.composer.dsl.composition import Row
from xingqiao.composer.languages import asl

RECORDED = json.loads(Path(__file__).with_name("catalog.json").read_text("utf-8"))


def digest(text):
    return sha256(text.encode()).hexdigest()[:16]


def exported(composition):
    try:
        return json.dumps(asl.export(composition))
    except composer.CompositionError as error:
        return str(error)


def becomes(composition):
    """The forms of a composition: its JSON, program, pictures and exports."""
    return {
        "program": composer.compile(composition).hash,
        "json": digest(json.dumps(composition.to_json())),
        "dot": digest(composer.dot(composition)),
        "mermaid": digest(composer.mermaid(composition)),
        "states": digest(exported(composition)),
    }


@pytest.mark.parametrize("name", CATALOG)
def test_a_composition_becomes_what_it_became_when_it_was_recorded(name):
    assert becomes(CATALOG[name]) == RECORDED[name]


def test_the_catalog_has_every_combinator_and_is_recorded_whole():
    families = [getattr(combinators, name) for name in combinators.__all__]
    rows = {row.type for family in families for row in vars(family).values() if type(row) is Row}
    used = {node.type for composition in CATALOG.values() for node in composition.walk()}

    assert used == rows
    assert CATALOG.keys() == RECORDED.keys()


@pytest.mark.parametrize("name", CATALOG)
def test_a_composition_that_is_read_again_becomes_the_same(name):
    again = composer.parse(json.loads(json.dumps(CATALOG[name].to_json())))

    assert becomes(again) == RECORDED[name]
