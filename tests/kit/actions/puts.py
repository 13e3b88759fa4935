"""Actions as PUT defines them."""

from __future__ import annotations

import base64
import io
import zipfile

import pytest

from tests.kit.actions.things import named
from xingqiao.actions import InvalidError
from xingqiao.actions.definitions import define_action as updated

CODE = {"kind": "python:3", "code": "def main(params):\n    return params\n"}


def put(doc, before=None):
    return updated(named(), doc, before, 7)


def refusal(doc, kind=InvalidError, before=None):
    with pytest.raises(kind) as caught:
        put(doc, before)
    return str(caught.value)


def archive():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("__main__.py", "def main(params): return params")
    return base64.b64encode(packed.getvalue()).decode()
