"""The error of bundles."""

from __future__ import annotations

from ...composer import Error


class BundleError(Error):
    """A part that cannot be bundled; the text names the part and the reason."""
