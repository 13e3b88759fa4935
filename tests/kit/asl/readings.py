"""Files that a distributed Map reads."""

from __future__ import annotations

import pytest

from xingqiao.composer.languages.asl.maps.items import read_items
from xingqiao.composer.languages.asl.state_errors import ITEM_READER_FAILED, StatesError

CSV = {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}


def read(body, config, **more):
    body = body.encode() if isinstance(body, str) else body
    return read_items(body, config, **more).values


def failing(body, config, **more):
    with pytest.raises(StatesError) as caught:
        read(body, config, **more)
    assert caught.value.name == ITEM_READER_FAILED
    return caught.value.cause
