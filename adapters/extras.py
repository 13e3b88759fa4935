"""The commands that install an optional dependency, for all errors that name one."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """The commands that install an extra: from an index, and in a checkout of the repository."""
    return f"pip install 'xingqiao[{extra}]', or in a checkout pip install -e '.[{extra}]'"
