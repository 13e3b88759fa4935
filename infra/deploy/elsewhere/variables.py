"""The variables of the environment in which a bundle has the secrets of functions on other clouds."""

from __future__ import annotations

import re

SECRET = "XINGQIAO_SECRET_"  # noqa: S105  how the variable of a secret begins
AMBIENT = "ambient"  # `adapters.AMBIENT`; here, so that the bundler loads no HTTP client


def variable_of(secret: str) -> str:
    """The name of the variable that has a secret."""
    return SECRET + re.sub(r"[.-]", "_", secret)
