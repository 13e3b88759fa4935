"""Operations of entities: what their code answers, here and made anew from what is deployed."""
# (what is captured here is odd on purpose)

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.transactions.types import LIMITS, Account, Stack, asked, both, total
from xingqiao.transactions import entity

TYPES = [Account, Stack, total]


small = st.integers(-3, 20)


MESSAGES = {
    "Account": st.one_of(
        st.tuples(st.just("deposit"), st.fixed_dictionaries({"amount": small})),
        st.tuples(st.just("deposit"), st.fixed_dictionaries({"amount": small, "memo": st.text()})),
        st.tuples(st.just("deposit"), st.just({"amount": "much"})),
        st.tuples(st.just("withdraw"), st.fixed_dictionaries({"amount": small})),
        st.tuples(st.just("rename"), st.dictionaries(st.text(), st.text(), max_size=2)),
        st.tuples(st.sampled_from(["look", "again", "_available", "close"]), st.just({})),
        st.tuples(st.just("upgrade"), st.just({"version": 1})),
    ),
    "Stack": st.one_of(
        st.tuples(st.just("push"), st.fixed_dictionaries({"item": st.none() | small | st.text()})),
        st.tuples(st.sampled_from(["pop", "clear", "measure", "size", "push"]), st.just({})),
        st.tuples(st.just("upgrade"), st.just({"version": 1})),
    ),
    "tally/total": st.one_of(
        st.tuples(st.just("add"), st.fixed_dictionaries({"by": small})),
        st.tuples(st.sampled_from(["halve", "pair", "add", "none"]), st.just({})),
    ),
}


@pytest.mark.parametrize("type", TYPES, ids=lambda of: of.name)
def test_captured_code_does_what_the_class_does_here(type):
    codes = both(type)

    @settings(derandomize=True, max_examples=150)
    @given(st.lists(MESSAGES[type.name], max_size=12))
    def holds(messages):
        state = None
        for operation, params in messages:
            message = {"state": state, "operation": operation, "params": params, "key": "k"}
            before = json.dumps(message)
            here, *there = [code(message) for code in codes]
            assert [here, here] == there
            assert json.dumps(message) == before
            state = json.loads(json.dumps(here.get("state", state)))

    holds()


@pytest.mark.parametrize("code", both(Account))
def test_an_operation_answers_with_its_result_and_what_the_state_is_now(code):
    new = {"balance": 5, "lines": ["a3"], "owner": {"name": "nobody"}}

    assert asked(code, "deposit", amount=3, memo="a") == {"state": new, "result": {"balance": 5}}
    assert asked(code, "withdraw", new, amount=2) == {
        "state": {**new, "balance": 3},
        "result": {},
    }


@pytest.mark.parametrize("code", both(Account))
def test_what_leaves_the_state_as_it_is_does_not_say_it_again(code):
    expected = {"result": [0, LIMITS, "a/b"]}

    assert asked(code, "look") == expected
    assert asked(code, "look", {"balance": 0}) == expected
    assert asked(code, "again", {"balance": 0}) == expected
    assert asked(code, "rename", {"balance": 1}, name="nobody") == {"result": {"name": "nobody"}}


@pytest.mark.parametrize(("was", "state"), [(1, True), (1, 1.0), ([1], [1, 2]), ([1], [True])])
def test_a_value_of_another_json_type_is_another_state(was, state):
    @entity
    class Cell:
        def __init__(self):
            self.value = None

        def set(self, value):
            self.value = value

    assert asked(Cell.function, "set", {"value": was}, value=state)["state"] == {"value": state}
    assert asked(Cell.function, "set", {"value": was}, value=was) == {"result": {}}


@pytest.mark.parametrize("code", both(Stack))
def test_the_state_of_a_plain_class_is_its_attributes(code):
    assert asked(code, "push", item=7) == {"state": {"items": [7], "_depth": 1}, "result": 1}
    assert asked(code, "measure", {"items": [1, 2], "_depth": 4}) == {
        "result": {"size": 2, "depth": 4}
    }


@pytest.mark.parametrize("code", both(Account))
@pytest.mark.parametrize(
    ("operation", "params", "error", "text"),
    [
        ("deposit", {"amount": -1}, "ValueError", "-1 is less than nothing"),
        ("withdraw", {"amount": 1}, "LookupError", "there is\n  not enough"),
        (
            "close",
            {},
            "NoSuchOperation",
            "Account has no operation 'close'; it has again, deposit, look, rename, withdraw",
        ),
        (
            "__init__",
            {},
            "NoSuchOperation",
            "Account has no operation '__init__'; it has again, deposit, look, rename, withdraw",
        ),
        (
            "deposit",
            {"memo": "x"},
            "BadParameters",
            "'deposit' takes 'amount', 'memo' (optional): missing a required argument: 'amount'",
        ),
        (
            "look",
            {"x": 1},
            "BadParameters",
            "'look' takes no parameters: got an unexpected keyword argument 'x'",
        ),
        (
            "withdraw",
            {"self": 1, "amount": 1},
            "BadParameters",
            "'withdraw' takes 'amount': multiple values for argument 'self'",
        ),
    ],
)  # fmt: skip
def test_a_refusal_says_what_there_is_and_leaves_the_state(code, operation, params, error, text):
    assert asked(code, operation, {"balance": 0}, **params) == {
        "error": {"code": error, "message": text}
    }


@pytest.mark.parametrize("code", both(Account))
@pytest.mark.parametrize(
    ("state", "text"),
    [
        (
            {"balance": 1, "cents": 5, "x": 0},
            "the state has 'cents', 'x', but Account has balance, lines, owner: write an upgrade",
        ),
        ([1], "the state of Account is an object, not [1]"),
    ],
)
def test_a_state_of_another_type_is_refused(code, state, text):
    assert asked(code, "look", state) == {"error": {"code": "BadState", "message": text}}


@pytest.mark.parametrize("code", both(Account))
def test_state_of_an_older_version_is_upgraded(code):
    assert asked(code, "upgrade", {"cents": 700}, version=1) == {
        "state": {"balance": 7, "lines": [1]}
    }
    assert asked(code, "upgrade", {}, version=1) == {
        "error": {"code": "KeyError", "message": "'cents'"}
    }


@pytest.mark.parametrize("code", both(Stack))
def test_without_an_upgrade_the_state_stays_as_it_is(code):
    assert asked(code, "upgrade", {"items": [1]}, version=1) == {"state": {"items": [1]}}


@pytest.mark.parametrize("code", both(total))
def test_operations_may_be_functions_of_the_state(code):
    assert asked(code, "add", by=2) == {"state": {"n": 2, "seen": [2]}, "result": {"by": 2}}
    assert asked(code, "halve", {"n": 3}) == {"state": {"n": 1.5}, "result": {}}
    assert asked(code, "pair", {"n": 3}, a=1) == {"result": {"a": 1}}
    assert asked(code, "upgrade", 4, version=2) == {"state": {"n": 6, "seen": []}}
    assert asked(code, "sub", {"n": 3}) == {
        "error": {
            "code": "NoSuchOperation",
            "message": "tally/total has no operation 'sub'; it has add, pair, halve",
        }
    }


@pytest.mark.parametrize("returned", ["x", ("x",), ["x", 1], None])
def test_a_function_that_returns_no_pair_is_told_so(returned):
    single = entity(name="single", operations={"get": lambda state, params: returned})

    assert asked(single.function, "get") == {
        "error": {
            "code": "TypeError",
            "message": f"'get' must return (state, result), not {returned!r}",
        }
    }


def test_functions_of_one_type_do_not_see_each_others_names():
    def by(n):
        def step(state, params):
            return (state or 0) + n, None

        return step

    type = entity(name="steps", operations={"up": by(1), "down": by(-1)})

    for code in both(type):
        assert asked(code, "up", 5)["state"] == 6
        assert asked(code, "down", 5)["state"] == 4
