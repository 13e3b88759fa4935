"""Entity types as users write them: what they are, and what cannot be one."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from dataclasses import dataclass
from functools import partial

import pytest

from tests.kit.composer.modules import defined
from tests.kit.transactions.types import Account, Stack, add, alone, asked, both, total
from xingqiao import composer
from xingqiao.composer import CaptureError, CompositionError
from xingqiao.embedded import ActionError, embedded
from xingqiao.transactions import EntityType, adapter, entity

globals()["foreign"] = object()  # no statement defines the name `foreign`


@pytest.fixture
def module_of(monkeypatch):
    return partial(defined, monkeypatch, entity=entity, dataclasses=dataclasses)


# --- what it is --------------------------------------------------------------------------------


def test_a_type_is_an_action_that_is_named_after_its_class():
    assert isinstance(Account, composer.ActionFunction)
    assert isinstance(Account, EntityType)
    assert (Account.name, Stack.name, total.name) == ("Account", "Stack", "tally/total")
    assert Account.limits == {"timeout": 5000}
    assert Account.annotations == {"entity": {"version": 2, "bytes": 1024}}
    assert Stack.annotations == {"entity": {"version": 1, "bytes": 65536}}


def test_a_definition_is_what_a_server_takes():
    document = Account.definition()

    assert document.keys() == {"exec", "limits", "annotations"}
    assert document["exec"].keys() == {"kind", "code", "main"}
    assert document["exec"]["main"] == "main"
    assert document["limits"] == {"timeout": 5000}
    assert document["annotations"] == [{"key": "entity", "value": {"version": 2, "bytes": 1024}}]
    assert Stack.definition().keys() == {"exec", "annotations"}


def test_tests_use_the_class_itself():
    account = Account(balance=9)

    assert account.deposit(amount=1) == {"balance": 10}
    assert isinstance(account, Account.type)
    assert Account.type(balance=9) == Account(balance=9)


def test_a_type_of_functions_has_no_class():
    assert total.type is None
    with pytest.raises(TypeError, match="tally/total is made of functions and has no class"):
        total()


def test_a_name_may_be_another():
    @entity(name="bank/account")
    class Account:
        def look(self):
            return Account.__name__

    assert Account.name == "bank/account"
    assert asked(alone(Account), "look") == {"result": "Account"}
    assert "bank/account has no operation" in str(asked(alone(Account), "x"))


def test_another_type_may_inherit_from_one_in_this_process():
    class Savings(Account):
        def interest(self):
            return self.deposit(1)

    assert Savings(balance=1).interest() == {"balance": 2}


@pytest.mark.parametrize("deployed", [False, True], ids=["here", "in workers"])
async def test_an_engine_runs_it(deployed):
    called = Account.name if deployed else Account
    key, path = composer.path("$.of"), composer.path("$.amount")
    async with embedded() as xingqiao:
        if deployed:
            await xingqiao.put(Account.name, Account.definition())
        deposit = composer.call(called, key, "deposit", {"amount": path})
        await xingqiao.deploy("deposit", deposit)
        await xingqiao.deploy("withdraw", composer.call(called, "a", "withdraw"))
        await xingqiao.deploy("read", composer.read(called, key))
        await xingqiao.invoke("deposit", {"of": "a", "amount": 3})

        assert await xingqiao.invoke("deposit", {"of": "a", "amount": 2}) == {"balance": 8}
        assert await xingqiao.invoke("withdraw", {"amount": 1}) == {}
        with pytest.raises(ActionError) as refused:
            await xingqiao.invoke("withdraw", {"amount": 100})
        assert refused.value.failure.error["code"] == "LookupError"
        found = await xingqiao.invoke("read", {"of": "a"})
        assert found["state"] == {"balance": 7, "lines": ["3", "2"], "owner": {"name": "nobody"}}


# --- what cannot be one ------------------------------------------------------------------------


async def waits(self): ...


def yields(self):
    yield


async def yields_later(self):
    yield


def made(**members):
    return type("Made", (), {"look": lambda self: None, **members})


NOTHING = type("Nothing", (), {"CONSTANT": 1, "_private": add, "static": staticmethod(add)})
NEEDY = made(__init__=lambda self, owner: None)
NEEDY_RECORD = dataclass(made(__annotations__={"owner": str}))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: entity(7), "entity: must be a class, or name= and operations=, not 7"),
        (lambda: entity(Account), "entity: must be a class, or name= and operations=, not Entity"),
        (lambda: entity(NOTHING), "entity: Nothing: there is no operation: add a public"),
        (lambda: entity(name="n", operations={}), "entity: n: there is no operation"),
        (lambda: entity(NEEDY), "entity: Made: a new entity is made without arguments, so each"),
        (lambda: entity(NEEDY_RECORD), "a default: missing a required argument: 'owner'"),
        (lambda: entity(made(__slots__=())), "entity: Made: the class has only __slots__: make it a dataclass"),
        (lambda: entity(made(o=waits)), "entity: Made: 'o' is async or a generator: an operation"),
        (lambda: entity(made(o=yields)), "'o' is async or a generator"),
        (lambda: entity(made(o=yields_later)), "'o' is async or a generator"),
        (lambda: entity(name="n", operations={"o": waits}), "n: 'o' is async"),
        (lambda: entity(made(upgrade=add)), "make 'upgrade' a staticmethod(state, version)"),
        (lambda: entity(made(upgrade=False)), "make 'upgrade' a staticmethod(state, version)"),
        (lambda: entity(name="n", operations={"upgrade": add}), "entity: n: 'upgrade' cannot be an"),
        (lambda: entity(made(), version=0), "entity: Made: the annotation 'entity.version' must be a"),
        (lambda: entity(made(), state_bytes=1 << 21), "the annotation 'entity.bytes' must be 1 to"),
        (lambda: entity(made(), name="a/b/c"), "entity: a/b/c: action name 'a/b/c': a relative name"),
        (lambda: entity(name="", operations={"a": add}), "'' must be 1 to 256 ASCII"),
    ],
)  # fmt: skip
def test_what_cannot_be_an_entity_is_refused_where_it_is_defined(make, text):
    with pytest.raises(CompositionError) as refusal:
        make()

    assert text in str(refusal.value)


@pytest.mark.parametrize("taken", ["main", "adapter", "inspect", "dataclasses", "FunctionType"])
def test_names_of_the_adapter_do_not_meet_those_of_the_class(taken, module_of):
    constant = f"{taken} = 5\n@entity\nclass T:\n    def f(self):\n        return {taken}\n"
    named = (
        f"@entity\nclass {taken}:\n    def f(self):\n        return {taken}().__class__.__name__\n"
    )

    assert [asked(code, "f") for code in both(module_of(constant)["T"])] == [{"result": 5}] * 3
    assert [asked(code, "f") for code in both(module_of(named)[taken])] == [{"result": taken}] * 3


def test_captured_code_needs_the_standard_library_only():
    runtime = Account.definition()["exec"]
    message = {"state": None, "operation": "deposit", "params": {"amount": 3}, "key": "k"}
    program = f"{runtime['code']}\nprint({runtime['main']}({message!r}))"

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )

    assert done.stdout.strip() == str(asked(Account.function, "deposit", amount=3)), done.stderr


def test_a_function_that_cannot_travel_is_refused_when_the_type_is_deployed():
    type = entity(name="n", operations={"get": lambda state, params: (foreign, None)})  # noqa: F821

    with pytest.raises(CaptureError, match="refers to 'foreign'"):
        type.definition()


def test_functions_that_travel_as_source_do_as_they_do_here():
    def put(state, params):
        return params["n"], {"was": state}

    def newer(state, version):
        return [state, version]

    sources = {"put": composer.capture(put)}
    code = adapter.of_sources("it", sources, composer.capture(newer))
    plain = adapter.of_sources("it", sources, None)

    asked_for = {"state": 1, "operation": "put", "params": {"n": 2}, "key": "k"}
    assert code(asked_for) == plain(asked_for) == {"state": 2, "result": {"was": 1}}
    older = {"state": 1, "operation": "upgrade", "params": {"version": 3}, "key": "k"}
    assert code(older) == {"state": [1, 3]}
