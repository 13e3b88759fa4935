"""The settings of queues: what they may be, and that they are kept."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import GUEST, begun
from tests.kit.engine.restarts import restarted
from xingqiao.actions import InvalidError, Rules
from xingqiao.composer import Bound
from xingqiao.infra.engine.queues.settings import rules_of, shown_rules

ALL = {
    "concurrent": 10, "per_minute": 600, "each_key": {"concurrent": 2}, "weights": {"acme": 3},
}  # fmt: skip


def test_a_document_sets_rules_and_is_shown_again():
    rules = rules_of(ALL)

    assert rules == Rules(Bound(10, 600), Bound(2), {"acme": 3})
    assert shown_rules(rules) == ALL
    assert shown_rules(rules_of({})) == {}


@pytest.mark.parametrize(
    ("doc", "why"),
    [
        ([], "the body must be a JSON object"),
        ({"concurent": 5}, "'concurent' is not a setting of a queue, which has concurrent"),
        ({"concurrent": 0}, "'concurrent' must be an int from 1"),
        ({"each_key": 5}, "'each_key' must be an object"),
        ({"each_key": {"per_minute": "x"}}, r"'each_key\.per_minute' must be an int from 1"),
        ({"weights": [1]}, "'weights' must be an object"),
        ({"weights": {"acme": 0}}, r"'weights\.acme' must be an int from 1 to 1000"),
    ],
)
def test_a_malformed_document_is_refused(doc, why):
    with pytest.raises(InvalidError, match=why):
        rules_of(doc)


async def test_settings_hold_over_a_restart_until_they_are_removed():
    made = await begun()
    await made.engine.queues.settings.put(GUEST, "gpu", ALL)
    with pytest.raises(InvalidError):
        await made.engine.queues.settings.put(GUEST, "a b", ALL)

    made = await restarted(made)
    settings = made.engine.queues.settings
    assert settings.get(GUEST, "gpu") == rules_of(ALL)
    assert settings.named(GUEST) == {"gpu"}
    assert await settings.remove(GUEST, "gpu")
    assert not await settings.remove(GUEST, "gpu")

    made = await restarted(made)
    assert made.engine.queues.settings.get(GUEST, "gpu") is None
    await made.kill()
