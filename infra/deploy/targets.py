"""The targets of bundles: AWS, Azure, Google Cloud, OpenWhisk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import aws, azure, google, openwhisk
from .errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .bundles import Source

_WRITERS: dict[str, Callable[[str, Source, Path], list[str]]] = {
    "aws": aws.write,
    "openwhisk": openwhisk.write,
    "azure": azure.write,
    "google": google.write,
}
TARGETS = tuple(_WRITERS)
MARKER = ".xingqiao-bundle"


def bundle(name: str, source: Source, target: str, folder: Path) -> list[str]:
    """Writes the deployable folder of a source.

    Args:
        name: the name of the bundle at the target.
        source: compositions, each of which becomes a function of the cloud, and their actions.
        target: one of TARGETS.
        folder: created if it does not exist; an earlier bundle there is replaced.

    Returns:
        The commands to run next, one a line.

    Raises:
        BundleError: the target cannot run a part, or the folder holds other files.
    """
    if target not in _WRITERS:
        raise BundleError(f"target {target!r} does not exist: give one of {', '.join(TARGETS)}")
    marker = folder / MARKER
    if folder.exists() and any(folder.iterdir()) and not marker.exists():
        raise BundleError(
            f"{folder}: the folder holds files that do not belong to a bundle: give an empty or a new folder"
        )
    next_steps = _WRITERS[target](name, source, folder)
    marker.write_text(f"{target}: written by xingqiao bundle, which replaces what is here\n")
    return next_steps
