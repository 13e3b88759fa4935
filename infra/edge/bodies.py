"""How many bytes of request bodies are read at the same time, over all connections."""

from __future__ import annotations

from dataclasses import dataclass

from ...actions import RefusedError

FREE = (
    64 << 10
)  # bytes of a body that nobody counts: small requests are never refused for others' large ones


class BusyError(RefusedError):
    """Too much is being read at the moment (503); the same request will do later."""


@dataclass(slots=True)
class Bodies:
    """Counts the bytes of bodies that are being read, beyond the first 64 KiB of each.

    Args:
        whole: bytes that may be read at the same time.
        unproved: those of requests whose sender is not authenticated yet.
        reading: bytes that are being read.
        reading_unproved: those of them whose sender is not authenticated yet.
        refused: bodies that did not fit.
    """

    whole: int = 256 << 20
    unproved: int = 96 << 20
    reading: int = 0
    reading_unproved: int = 0
    refused: int = 0

    def check(self, size: int, *, proved: bool) -> None:
        """Looks whether a body of this size fits, and takes nothing.

        Raises:
            BusyError: when it does not.
        """
        over = size - FREE
        if over > 0:
            self._check(over, proved=proved)

    def take(self, taken: int, size: int, *, proved: bool) -> int:
        """Counts a body that has grown to `size` bytes, `taken` of which are counted already.

        Returns:
            The bytes that are counted for it now; whoever reads it gives them back.

        Raises:
            BusyError: when they are too many; `taken` stays counted.
        """
        more = size - FREE - taken
        if more <= 0:
            return taken
        self._check(more, proved=proved)
        self._add(more, proved=proved)
        return taken + more

    def give(self, taken: int, *, proved: bool) -> None:
        """Takes back what `take` has counted."""
        self._add(-taken, proved=proved)

    def _add(self, size: int, *, proved: bool) -> None:
        self.reading += size
        if not proved:
            self.reading_unproved += size

    def _check(self, more: int, *, proved: bool) -> None:
        fits = self.reading + more <= self.whole
        if not proved:
            fits = fits and self.reading_unproved + more <= self.unproved
        if not fits:
            self.refused += 1
            raise BusyError(
                "The server is reading too many large requests at the moment: try again in a second."
            )
