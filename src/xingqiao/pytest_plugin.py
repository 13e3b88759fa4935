"""The pytest plugin of Xingqiao: a fixture that runs compositions in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .testing import Run


@pytest.fixture(name="simulate")
def _simulate() -> Callable[..., Run]:
    """`xingqiao.testing.simulate`: run a composition with faked actions, in virtual time.

    def test_a_flaky_post_is_tried_again(simulate):
        run = simulate(composer.retry(2, "post"), actions={"post": [Fail(), {"ok": True}]})
        assert run.value == {"ok": True}
    """
    from .testing import simulate  # noqa: PLC0415  loaded by the first test that uses the fixture

    return simulate
