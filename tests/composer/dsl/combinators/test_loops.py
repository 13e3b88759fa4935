"""Loops."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError

WRONG = [
    (lambda: composer.repeat(-1, "a"), "repeat: 'count' must be an int >= 0, not -1"),
    (lambda: composer.repeat(True, "a"), "repeat: 'count' must be an int >= 0, not True"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "why"), WRONG, ids=[why for _, why in WRONG])
def test_wrong_use_is_refused_with_the_argument_named(build, why):
    with pytest.raises(CompositionError, match=why):
        build()
