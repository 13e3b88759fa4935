"""The lock of one entity: who is let in, who waits, who is refused; and that nobody waits in a circle."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from xingqiao.transactions.locks import Claim, Lock


def plain(owner, *, exclusive=True):
    return Claim(owner, exclusive)


def declared(owner, *, exclusive=True, at=1):
    return Claim(owner, exclusive, "declared", (at, owner))


def going(owner, *, exclusive=True, at=1, order="wait"):
    return Claim(owner, exclusive, order, (at, owner))


def test_it_is_shared_to_read_and_exclusive_to_write():
    lock = Lock()

    assert lock.ask(plain("r1", exclusive=False)) == "granted"
    assert lock.ask(plain("r2", exclusive=False)) == "granted"
    assert lock.ask(plain("w")) == "waits"
    assert lock.ask(plain("r3", exclusive=False)) == "waits"  # after the writer: it is not starved
    assert [claim.owner for claim in lock.waiting] == ["w", "r3"]
    lock.release("r1")
    assert lock.granted() == []
    lock.release("r2")
    assert [claim.owner for claim in lock.granted()] == ["w"]
    assert lock.holds("w", exclusive=True)
    lock.release("w")
    assert [claim.owner for claim in lock.granted()] == ["r3"]
    assert not lock.holds("r3", exclusive=True)
    lock.release("r3")
    assert lock.free


def test_what_one_has_one_is_given_again():
    lock = Lock()
    lock.ask(going("t"))

    assert lock.ask(going("t")) == "granted"
    assert lock.ask(going("t", exclusive=False)) == "granted"


def test_the_older_waits_for_the_younger_and_not_the_other_way():
    lock = Lock()
    lock.ask(going("middle", at=2))

    assert lock.ask(going("old", at=1)) == "waits"
    assert lock.ask(going("young", at=3)) == "refused"
    assert lock.ask(going("z", at=1)) == "refused"  # older than who has it, younger than who waits
    assert lock.ask(going("oldest", at=0)) == "waits"


def test_who_may_not_wait_is_refused_at_once():
    lock = Lock()
    lock.ask(going("t", at=9))

    assert lock.ask(going("other", at=1, order="nowait")) == "refused"


def test_a_declared_one_waits_for_its_kind_and_for_plain_ones_only():
    lock = Lock()
    lock.ask(declared("first", at=9))
    assert lock.ask(declared("second", at=1)) == "waits"
    assert lock.ask(plain("p")) == "waits"
    assert lock.ask(declared("third")) == "waits"
    assert lock.ask(going("t")) == "waits"
    assert lock.ask(declared("behind it")) == "refused"


def test_who_wants_more_than_he_has_goes_first():
    lock = Lock()
    lock.ask(going("a", exclusive=False, at=1))
    lock.ask(going("b", exclusive=False, at=2))
    assert lock.ask(plain("w")) == "waits"

    assert lock.ask(going("b", at=2)) == "refused"  # it would wait for an older one
    assert lock.ask(going("a", at=1)) == "waits"
    lock.release("b")
    assert [claim.owner for claim in lock.granted()] == ["a"]
    assert lock.holds("a", exclusive=True)


# --- no deadlock, ever ---------------------------------------------------------------------------

KEYS = "abcd"


class Party:
    """A transaction that takes locks in some order and keeps them to its end."""

    def __init__(self, number, order, wants):
        self.name, self.order, self.age = f"t{number}", order, (number, f"t{number}")
        self.wants = sorted(wants) if order == "declared" else wants
        self.got, self.waits = 0, None

    def claim(self, exclusive):
        return Claim(self.name, exclusive, self.order, self.age)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["declared", "wait", "nowait"]),
            st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=1, max_size=5),
        ),
        min_size=2,
        max_size=6,
    ),
    st.randoms(use_true_random=False),
)
@settings(max_examples=400, derandomize=True, deadline=None)
def test_nobody_waits_in_a_circle(parties, chance):
    locks = {key: Lock() for key in KEYS}
    going_on = [
        Party(number, order, _once(wants, order)) for number, (order, wants) in enumerate(parties)
    ]
    for _ in range(200):
        able = [party for party in going_on if party.waits is None]
        if not going_on:
            break
        assert able, "everybody waits"
        party = chance.choice(able)
        if party.got == len(party.wants):
            _let_go(party, locks, going_on)
            going_on.remove(party)
            continue
        key, exclusive = party.wants[party.got]
        answer = locks[key].ask(party.claim(exclusive))
        if answer == "granted":
            party.got += 1
        elif answer == "waits":
            party.waits = key
        else:
            _let_go(party, locks, going_on)
            party.got = 0
        assert not _circle(going_on, locks)


def _once(wants, order):
    """A declared one asks once for each key; the others may ask for more than they have."""
    return [*dict(wants).items()] if order == "declared" else wants


def _let_go(party, locks, everybody):
    for key, lock in locks.items():
        lock.release(party.name)
        for claim in lock.granted():
            other = next(one for one in everybody if one.name == claim.owner)
            assert other.waits == key
            other.waits, other.got = None, other.got + 1


def _circle(everybody, locks):
    waits_for = {
        party.name: {claim.owner for claim in locks[party.waits].holders} - {party.name}
        for party in everybody
        if party.waits is not None
    }
    for start in waits_for:
        seen, left = set(), [start]
        while left:
            for other in waits_for.get(left.pop(), ()):
                if other == start:
                    return True
                if other not in seen:
                    seen.add(other)
                    left.append(other)
    return False
