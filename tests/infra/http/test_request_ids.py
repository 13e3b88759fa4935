"""Ids of requests: each is another one, in the forms that clients of both APIs expect."""

from __future__ import annotations

import re
import uuid

from xingqiao.infra.http.request_ids import AT_ONCE, RequestIds


def test_each_id_is_another_one_also_when_more_are_drawn():
    ids = RequestIds()

    made = [ids.new() for _ in range(2 * AT_ONCE + 1)]

    assert len({*made}) == len(made)
    assert all(re.fullmatch("[0-9a-f]{32}", id) for id in made)


def test_a_uuid_is_random_and_says_so():
    ids = RequestIds()

    made = [ids.uuid() for _ in range(100)]

    assert len({*made}) == 100
    parsed = [uuid.UUID(text) for text in made]
    assert {(one.version, one.variant) for one in parsed} == {(4, uuid.RFC_4122)}
    assert [str(one) for one in parsed] == made
