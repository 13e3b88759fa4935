"""Parameters: AWS' own model is what they are held against."""

from __future__ import annotations

import pytest
from botocore.loaders import Loader

from xingqiao.infra.aws.shapes import Flag, Items, Members, Number, Text
from xingqiao.infra.stepfunctions.api.inputs import INPUTS

MODEL = Loader().load_service_model("stepfunctions", "service-2")
SHAPES = MODEL["shapes"]


def same(ours, name):
    theirs = SHAPES[name]
    match ours:
        case Members():
            assert ours.fields.keys() == theirs["members"].keys()
            assert ours.required == set(theirs.get("required", []))
            for field, shape in ours.fields.items():
                same(shape, theirs["members"][field]["shape"])
        case Items():
            assert (ours.least, ours.most) == (theirs.get("min", 0), theirs.get("max"))
            same(ours.member, theirs["member"]["shape"])
        case Text():
            assert (ours.least, ours.most) == (theirs.get("min", 0), theirs.get("max"))
            assert set(ours.among) == set(theirs.get("enum", []))
            assert ours.secret == theirs.get("sensitive", False)
            pattern = {r"\p{ASCII}*": r"[\x00-\x7f]*"}.get(theirs.get("pattern"))
            assert ours.pattern == (pattern or theirs.get("pattern"))
        case Number():
            assert (ours.least, ours.most) == (theirs.get("min", 0), theirs.get("max"))
            assert ours.whole == (theirs["type"] in ("integer", "long"))
        case Flag():
            assert theirs["type"] == "boolean"


@pytest.mark.parametrize("operation", MODEL["operations"])
def test_the_parameters_of_an_operation_are_those_of_the_model(operation):
    same(INPUTS[operation], MODEL["operations"][operation]["input"]["shape"])


def test_there_is_no_operation_that_the_model_has_not():
    assert INPUTS.keys() == MODEL["operations"].keys()
