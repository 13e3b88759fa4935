"""Actions that workers outside run, as the DSL writes them."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError, path


def test_a_function_with_a_queue_is_deployed_without_its_source():
    @composer.action(queue="gpu", heartbeat=30, key=path("$.tenant"), timeout=600, attempts=None)
    def render(params, step=None):
        return {**params, "step": step}

    assert render({"a": 1}) == {"a": 1, "step": None}
    assert render.definition() == {
        "exec": {"kind": "queue", "queue": "gpu", "heartbeat": 30, "key": {"$path": "$.tenant"}},
        "limits": {"timeout": 600_000},
    }


def test_an_action_with_a_queue_is_defined_where_it_is_named():
    part = composer.action("render", queue="gpu", priority=path("$.p", default=3), to_start=60)

    assert part.to_json()["action"] == {
        "exec": {
            "kind": "queue",
            "queue": "gpu",
            "priority": {"$path": "$.p", "$default": 3},
            "to_start": 60,
        }
    }
    assert composer.parse(part.to_json()).to_json() == part.to_json()


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda: composer.action("a", queue="g", memory=5), "'memory' does not go with 'queue', which takes 'key'"),
        (lambda: composer.action("a", queue=""), "'queue' must be the name of a queue, not ''"),
        (lambda: composer.action(queue=5)(print), "'queue' must be the name of a queue, not 5"),
        (lambda: composer.action("a", queue="g", code="x"), "give either 'code' or 'queue'"),
        (lambda: composer.action(heartbeat=5)(print), "unknown argument 'heartbeat'"),
    ],
)  # fmt: skip
def test_wrong_use_is_refused(build, why):
    with pytest.raises(CompositionError, match=why):
        build()
