"""The pages of the public Python modules."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

import xingqiao
from docs.site import modules


def test_the_public_modules_are_those_of_the_package():
    assert sorted(modules.PUBLIC) == sorted(xingqiao.__all__)


@pytest.mark.parametrize("name", modules.PUBLIC)
def test_a_page_has_every_member_of_its_module(name):
    shown = re.findall(r"^### (\w+)$|^\| `(\w+)` \|", modules.page(name), flags=re.MULTILINE)

    members = sorted(one or other for one, other in shown)

    assert members == sorted(import_module(f"xingqiao.{name}").__all__)


def test_a_function_has_its_signature_and_its_arguments():
    page = modules.page("composer")
    section = page.partition("### retry\n")[2].partition("\n### ")[0]

    assert "retry(\n    count: int | None,\n    *parts: Part,\n" in section
    assert "\n) -> Composition\n" in section
    assert "- `backoff`: the factor by which each further delay grows.\n" in section


def test_a_class_has_its_methods():
    page = modules.page("embedded")

    assert "- `deploy(name: str, composition: Composition) -> None`\n" in page
    assert "object at 0x" not in page


def test_functions_stand_before_classes():
    page = modules.page("transactions")

    assert page.index("### entity\n") < page.index("### Answer\n")
