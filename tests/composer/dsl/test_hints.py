"""Names that do not exist: errors name similar ones."""

from __future__ import annotations

import pytest

from xingqiao import composer


def test_a_name_that_does_not_exist_names_similar_ones():
    with pytest.raises(AttributeError, match=r"'sequnce': did you mean 'sequence'"):
        _ = composer.sequnce
    with pytest.raises(AttributeError, match=r"'while_': did you mean 'loop'"):
        _ = composer.while_
    with pytest.raises(AttributeError, match=r"has no attribute '__path_hook__'$"):
        _ = composer.__path_hook__
