"""The clouds that there are bundles for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import aws, azure, openwhisk
from .bundles import BundleError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .bundles import Source

_WRITERS: dict[str, Callable[[str, Source, Path], list[str]]] = {
    "aws": aws.write,
    "openwhisk": openwhisk.write,
    "azure": azure.write,
}
TARGETS = tuple(_WRITERS)
MARKER = ".xingqiao-bundle"


def bundle(name: str, source: Source, target: str, folder: Path) -> list[str]:
    """Writes the deployable folder of a source.

    Args:
        name: what it is called there.
        source: compositions, each of which becomes a function of the cloud, and their actions.
        target: one of TARGETS.
        folder: made if it is not there; an earlier bundle there is replaced, and nothing else.

    Returns:
        What to do next, a command a line.

    Raises:
        BundleError: naming what the target cannot run, or when the folder holds anything else.
    """
    if target not in _WRITERS:
        raise BundleError(f"target: there is no {target!r}, but {', '.join(TARGETS)}")
    marker = folder / MARKER
    if folder.exists() and any(folder.iterdir()) and not marker.exists():
        raise BundleError(
            f"{folder}: it holds files that are no bundle: name an empty or a new folder"
        )
    next_steps = _WRITERS[target](name, source, folder)
    marker.write_text(f"{target}: written by xingqiao bundle, which replaces what is here\n")
    return next_steps
