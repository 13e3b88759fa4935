"""Options of a start, as they are stored with an execution."""

from __future__ import annotations

from xingqiao.actions import PLAIN, StartOptions


def test_only_what_differs_from_the_defaults_is_stored():
    assert PLAIN.to_json() == {}
    assert StartOptions(id="order-7", memo=[1], run_timeout_ms=5).to_json() == {
        "id": "order-7",
        "memo": [1],
        "run_timeout_ms": 5,
    }


def test_what_is_stored_is_read_again():
    options = StartOptions(
        id="order-7",
        on_open="use",
        on_closed="reject",
        attributes={"customer": "anna"},
        memo={"n": 1},
        execution_timeout_ms=7,
        run_timeout_ms=5,
    )

    assert StartOptions.from_json(options.to_json()) == options
    assert StartOptions.from_json({}) == PLAIN
