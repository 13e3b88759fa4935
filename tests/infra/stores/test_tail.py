"""The tail of the journal: what is committed, and not yet in the views."""

from __future__ import annotations

from tests.kit.stores.contract import activation
from xingqiao.infra.stores.journal import Entries
from xingqiao.infra.stores.tail import Lists, Tail


def entries(activations=(), history=(), forgotten=()):
    return Entries([*activations], [*history], [*forgotten])


def found(tail):
    return [(row.id, row.status) for row in tail.activations()]


def test_an_activation_that_is_written_again_is_the_last():
    tail = Tail(7)
    tail.add(8, entries([activation("a"), activation("b")]), 4)
    tail.add(9, entries([activation("a", status=2)]), 2)

    assert found(tail) == [("b", 0), ("a", 2)]
    assert tail.activation("a").status == 2
    assert tail.activation("c") is None


def test_what_the_views_have_is_dropped_and_what_replaced_it_stays():
    for reads_before in (True, False):
        tail = Tail(0)
        tail.add(
            1, entries([activation("a"), activation("b")], [("e", 1, b"1"), ("e", 2, b"2")]), 6
        )
        tail.add(2, entries([activation("a", status=1)], [("e", 2, b"new")]), 5)
        if reads_before:
            assert len(found(tail)) == 2
        tail.add(3, entries(history=[("f", 1, b"1")]), 1)
        assert (tail.size, tail.bytes, tail.base, tail.number) == (7, 12, 0, 3)

        tail.drop(1)

        assert found(tail) == [("a", 1)]
        assert tail.lists("e") == Lists({2: b"new"}, forgotten=False)
        assert (tail.size, tail.bytes, tail.base) == (3, 6, 1)
        tail.drop(3)
        assert (found(tail), tail.lists("f"), tail.size, tail.base) == ([], Lists({}, False), 0, 3)
        assert not tail.replaces("e", 2)


def test_a_history_that_was_forgotten_hides_what_the_views_have():
    tail = Tail(0)
    tail.add(1, entries(history=[("e", 1, b"1")], forgotten=["e"]), 1)
    tail.add(2, entries(history=[("e", 2, b"2")]), 1)

    assert tail.lists("e") == Lists({2: b"2"}, forgotten=True)
    assert tail.replaces("e", 7)
    tail.drop(1)
    assert tail.lists("e") == Lists({2: b"2"}, forgotten=False)
    assert (tail.replaces("e", 2), tail.replaces("e", 7)) == (True, False)


def test_commits_without_records_are_counted_only():
    tail = Tail(0)
    tail.add(1, entries(), 0)

    assert (tail.number, tail.size, found(tail)) == (1, 0, [])


def test_executions_are_those_of_activations_and_their_causes():
    tail = Tail(0)
    tail.add(1, entries([activation("a", cause="e"), activation("b")]), 0)

    assert tail.executions() == {"a", "b", "e"}
