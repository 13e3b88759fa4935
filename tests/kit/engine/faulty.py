"""A store that refuses for some time, at a commit or at a read, and then works again."""

from __future__ import annotations

from xingqiao.actions import InDoubtError
from xingqiao.infra.stores import StoreError

READS = ("load", "history", "values", "find")


class FaultyStore:
    """A store that fails at the commit or the read `at`, counted from when it is armed.

    Args:
        store: that it is in front of.
        at: the first commit, or read, that fails.
        times: how many fail, one after another; None for all until `room` is set.
        does: "refuses" has no effect; "doubts" has it, and does not say so until it is asked again.
        reads: whether reads fail instead of commits.
    """

    def __init__(self, store, at, *, times=1, does="refuses", reads=False):
        self._store, self._at, self._times, self._does = store, at, times, does
        self._fails_reads, self._left = reads, times
        self._doubtful = None
        self.armed, self.room, self.seen, self.failed = False, False, 0, 0

    def __getattr__(self, name):
        found = getattr(self._store, name)
        if name not in READS or not self._fails_reads:
            return found

        async def read(*arguments):
            self._look()
            return await found(*arguments)

        return read

    async def documents(self, *arguments, **options):
        if self._fails_reads:
            self._look()
        async for document in self._store.documents(*arguments, **options):
            yield document

    def _look(self):
        """Fails when it is time to."""
        if not self.armed:
            return
        self.seen += 1
        if self.seen <= self._at or self.room or (self._left is not None and self._left <= 0):
            return
        self._left = None if self._left is None else self._left - 1
        self.failed += 1
        raise StoreError("the disk is full")

    async def commit(self, writes):
        if self._fails_reads:
            return await self._store.commit(writes)
        if self._doubtful is not None and self._doubtful[0] == writes:
            refused, self._doubtful = self._doubtful[1], None
            self._look()
            return refused
        try:
            self._look()
        except StoreError:
            if self._does == "doubts" and self._doubtful is None:
                self._doubtful = list(writes), await self._store.commit(writes)
                raise InDoubtError("no answer in time") from None
            raise
        return await self._store.commit(writes)
