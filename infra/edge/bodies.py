"""Bounds the bytes of request bodies that are read at the same time, over all connections."""

from __future__ import annotations

from dataclasses import dataclass

from ...actions import RefusedError

FREE = 64 << 10  # uncounted bytes of a body, so that large requests never block small ones


class BusyError(RefusedError):
    """The server is reading too much at the moment (503); the request can be retried."""


@dataclass(slots=True)
class Bodies:
    """Counts the bytes of bodies under way, beyond the first 64 KiB of each.

    Args:
        whole: bytes that may be read at the same time.
        unproved: the same for requests whose sender is not authenticated yet.
        reading: bytes that are being read.
        reading_unproved: the part of them whose sender is not authenticated yet.
        refused: number of bodies that did not fit.
    """

    whole: int = 256 << 20
    unproved: int = 96 << 20
    reading: int = 0
    reading_unproved: int = 0
    refused: int = 0

    def check(self, size: int, *, proved: bool) -> None:
        """Checks that a body of this size fits, without counting it.

        Raises:
            BusyError: the body does not fit.
        """
        over = size - FREE
        if over > 0:
            self._check(over, proved=proved)

    def take(self, taken: int, size: int, *, proved: bool) -> int:
        """Counts a body that has grown to `size` bytes, `taken` of which are counted already.

        Returns:
            The bytes that are counted for the body now; the caller must `give` them back.

        Raises:
            BusyError: the body does not fit; `taken` stays counted.
        """
        more = size - FREE - taken
        if more <= 0:
            return taken
        self._check(more, proved=proved)
        self._add(more, proved=proved)
        return taken + more

    def give(self, taken: int, *, proved: bool) -> None:
        """Returns the bytes that `take` has counted."""
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
