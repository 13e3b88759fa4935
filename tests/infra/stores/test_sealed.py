"""How bodies are sealed and opened; the laws of a store run over a sealed one in `tests/contracts`."""

from __future__ import annotations

import pytest

from xingqiao.actions import Document, ExecutionRow, Write
from xingqiao.infra.stores import (
    MemoryStore,
    Seal,
    SealedStore,
    SealError,
    StoreError,
    is_sealed,
    new_key,
)

BODY, PLACE = b'{"token":"a-bound-parameter"}', b"value/e1/k"


def test_a_body_is_opened_in_its_place_with_its_key_only():
    key = new_key()
    sealed = Seal([key]).sealed(PLACE, BODY)

    assert is_sealed(sealed)
    assert BODY not in sealed
    assert Seal([key]).opened(PLACE, sealed) == BODY
    assert Seal([new_key(), key]).opened(PLACE, sealed) == BODY
    with pytest.raises(SealError, match="was changed, or belongs to another place"):
        Seal([key]).opened(b"value/e2/k", sealed)
    with pytest.raises(SealError, match="with a key that is not here"):
        Seal([new_key()]).opened(PLACE, sealed)


def test_a_body_that_is_damaged_anywhere_does_not_open():
    seal = Seal([new_key()])
    sealed = seal.sealed(PLACE, BODY)

    for at in range(4, len(sealed)):
        with pytest.raises(SealError):
            seal.opened(PLACE, sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :])
        with pytest.raises(SealError):
            seal.opened(PLACE, sealed[:at])


def test_what_was_never_sealed_is_read_as_it_is():
    seal = Seal([new_key()])
    for body in (b"", b"{}", b"\x00" * 32, BODY):
        assert seal.opened(PLACE, body) == body
        assert not is_sealed(body)


def test_no_two_bodies_are_sealed_alike():
    key = new_key()
    made = [Seal([key]).sealed(PLACE, BODY)[:36] for _ in range(3)]
    seal = Seal([key])
    made += [seal.sealed(PLACE, BODY)[:36] for _ in range(100)]  # up to the end of the nonce
    assert len(set(made)) == len(made)


def test_the_first_key_seals():
    old, new = new_key(), new_key()
    sealed = Seal([old]).sealed(PLACE, BODY)
    both = Seal([new, old])

    assert not both.is_current(sealed)
    assert not both.is_current(BODY)
    assert both.is_current(both.sealed(PLACE, BODY))
    assert both.is_current(Seal([new]).sealed(PLACE, BODY))


@pytest.mark.parametrize("keys", [[], ["short"], ["A" * 45], [new_key(), "é"]])
def test_what_is_no_key_is_refused(keys):
    with pytest.raises(SealError):
        Seal(keys)


async def test_a_commit_that_failed_is_handed_on_with_the_same_bytes():
    class Failing(MemoryStore):
        def __init__(self):
            super().__init__()
            self.seen = []

        async def commit(self, writes):
            self.seen.append(writes)
            if len(self.seen) == 1:
                raise StoreError("the answer is lost")
            return await super().commit(writes)

    below = Failing()
    store = SealedStore(below, Seal([new_key()]))
    writes = [
        Write(
            executions=[ExecutionRow("e1", "guest", "a", "running", 1, None, BODY)],
            documents=[Document(kind="k", key="gone", body=None)],
        )
    ]
    with pytest.raises(StoreError, match="the answer is lost"):
        await store.commit(writes)
    assert await store.commit(writes) == []
    assert below.seen[0] == below.seen[1]
    assert await store.commit(writes) == []
    assert below.seen[2] != below.seen[1]
    assert (await store.load("e1")).execution.body == BODY
