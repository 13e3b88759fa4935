"""Entity types as users write them: run in-process, and captured as code that does the same alone."""
# ruff: noqa: F821, PLW0603, PTH118, TC003, UP037
# (what is captured here is odd on purpose)

from __future__ import annotations

import abc
import dataclasses
import decimal
import functools
import json
import linecache
import math
import os.path as paths
import subprocess
import sys
import types
import typing
from dataclasses import InitVar, dataclass, field
from dataclasses import dataclass as record
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xingqiao import composer
from xingqiao.actions.runtimes.worker import define
from xingqiao.composer import CaptureError, CompositionError, capture_class
from xingqiao.infra.service.embedded_engine import ActionError, embedded
from xingqiao.transactions import EntityType, adapter, entity

FEE = 1
LIMITS = {"gold": [100, None], "it's": 1.5}
dataclasses_ = dataclasses
globals()["foreign"] = object()  # no statement defines the name `foreign`
counter = 0


def helper():
    return 1


def kept(cls):
    return cls


def alone(type):
    """The code of an entity type, made anew from what is deployed of it, and nothing else."""
    runtime = type.definition()["exec"]
    scope: dict = {}
    exec(compile(runtime["code"], "<captured>", "exec", dont_inherit=True), scope)
    assert runtime["kind"] == "python:3"
    return scope[runtime["main"]]


def working(type):
    """The same, as a worker makes it: in a module that nobody can import."""
    runtime = type.definition()["exec"]
    return define(type.name, runtime["code"], runtime["main"])


def both(type):
    return [type.function, alone(type), working(type)]


def asked(code, operation, state=None, **params):
    """What the code of an entity answers."""
    return code({"state": state, "operation": operation, "params": params, "key": "k"})


@pytest.fixture
def module_of(monkeypatch):
    """What a module of a text defines, with its source to be found."""

    def made(text):
        name = f"module_{abs(hash(text))}"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        module = types.ModuleType(name)
        module.__dict__.update(entity=entity, dataclasses=dataclasses)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)
        return vars(module)

    return made


# --- types -------------------------------------------------------------------------------------


class OverdrawnError(Exception):
    pass


@entity(version=2, state_bytes=1 << 10, limits={"timeout": 5000})
@dataclass
class Account:
    """Money."""

    balance: int = 0
    lines: list[decimal.Decimal] = field(default_factory=list)  # what it names stays here
    owner: dict[str, str] = field(default_factory=lambda: {"name": "nobody"})
    rate: ClassVar[int] = 2

    def deposit(self, amount: int, memo: str = "") -> dict:
        if amount < 0:
            self.lines.append("never seen")
            raise ValueError(f"{amount} is less than nothing")
        self.balance += amount * self.rate - FEE
        self.lines.append(f"{memo}{math.floor(amount)}")
        return {"balance": self.balance}

    def withdraw(self, amount):
        if amount > self._available():
            raise LookupError("""there is
  not enough""")
        self.balance -= amount

    def rename(self, **names):
        self.owner.update(names)
        return self.owner

    def look(self):
        return [self.balance, LIMITS, paths.join("a", "b")]

    def again(self):
        return Account(balance=self.balance).look()

    def _available(self):
        return self.balance

    @staticmethod
    def upgrade(state, version):
        return {"balance": state["cents"] // 100, "lines": [version]}


@entity
class Stack:
    def __init__(self):
        self.items = []
        self._depth = 0

    def push(self, item):
        self.items.append(item)
        self._depth = max(self._depth, len(self.items))
        return self._depth

    def pop(self):
        return {"item": self.items.pop()}

    def clear(self):
        self.__init__()

    @property
    def size(self):
        return len(self.items)

    def measure(self):
        return {"size": self.size, "depth": self._depth}


def add(state, params):
    state = state or {"n": 0, "seen": []}
    state["seen"].append(params["by"])
    return {**state, "n": state["n"] + params["by"] * FEE}, {"by": params["by"]}


def pair(state, params):
    return state, params


total = entity(
    name="tally/total",
    operations={"add": add, "pair": pair, "halve": lambda state, _: ({"n": state["n"] / 2}, None)},
    upgrade=lambda state, version: {"n": state + version, "seen": []},
    version=3,
)

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


# --- what it does ------------------------------------------------------------------------------


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


# --- awkward sources ---------------------------------------------------------------------------


class Outer:
    """Types may stand in a class."""

    @entity
    @dataclass
    class Inner:
        n: int = 0

        def bump(self):
            self.n += FEE
            return """a
  b"""


def test_a_class_in_a_class_is_captured():
    answer = {"state": {"n": 1}, "result": "a\n  b"}

    assert [asked(code, "bump") for code in both(Outer.Inner)] == [answer] * 3


def test_a_class_in_a_function_takes_along_what_its_methods_see():
    rate, module, start = 3, math, 5

    @entity
    @dataclass
    class Local:
        n: int = field(default_factory=lambda: start)

        def bump(self):
            self.n += rate
            return Local(n=module.floor(2.5)).n

    class Start:  # what only the class body sees is not known afterwards
        n = rate

        def look(self):
            return self.n

    with pytest.raises(
        CaptureError, match=r"uses 'start', which is not defined here\. Define it in"
    ):
        Local.definition()
    with pytest.raises(
        CaptureError, match=r"uses 'rate', which is not defined here\. Define it in"
    ):
        capture_class(Start)


def test_methods_in_a_function_take_along_what_they_close_over():
    rate, module = 3, math

    @entity
    @dataclass
    class Local:
        n: int = 0

        def bump(self):
            self.n += rate
            return Local(n=module.floor(2.5)).n

        @property
        def doubled(self):
            return [rate for _ in range(2)]

        @functools.cache  # noqa: B019
        def cached(self): ...

        def look(self):
            return self.doubled

    bumped = {"state": {"n": 3}, "result": 2}
    assert [asked(code, "bump") for code in both(Local)] == [bumped] * 3
    assert [asked(code, "look") for code in both(Local)] == [{"result": [3, 3]}] * 3


@entity
@kept
@dataclasses.dataclass(
    order=True,
    slots=True,
)
@kept
class Decorated:
    n: "int" = 0
    _: dataclasses_.KW_ONLY
    limit: typing.ClassVar[int] = 9
    scale: InitVar[int] = 2
    made: dataclasses.InitVar[int] = 1
    derived: int = field(init=False, default=0)
    bound: ClassVar

    def __post_init__(self, scale, made):
        self.derived = self.derived or (self.n + made) * scale

    def bump(self):
        self.n += 1
        self.derived += 100
        return sorted(field.name for field in dataclasses.fields(self))


def test_only_what_makes_it_a_dataclass_stays_of_its_decorators():
    new = {"n": 1, "derived": 102}
    answer = {"state": new, "result": ["derived", "n"]}
    answers = [asked(code, "bump") for code in both(Decorated)]
    again = [asked(code, "bump", new)["state"] for code in both(Decorated)]

    assert answers == [answer] * 3
    assert again == [{"n": 2, "derived": 202}] * 3
    code = Decorated.definition()["exec"]["code"]
    assert "@kept" not in code
    assert "@entity" not in code
    assert "@dataclasses.dataclass(\n    order=True,\n    slots=True,\n)\n" in code


@entity
@record(eq=False)
class Renamed:
    n: int = 0
    with_helper: int = 1

    @dataclass
    class Line:
        text: str
        limit: ClassVar[int] = 5

        def shown(self):
            return f"{self.text}{self.limit}"

    def look(self):
        @record
        class Point:
            x: int = 4

        return [self.Line("a").shown(), Point().x]


@entity
class Listed(list, abc.ABC):
    def look(self):
        return len(self)


def test_a_base_that_is_built_in_or_of_a_module_is_there_again():
    assert [asked(code, "look") for code in both(Listed)] == [{"result": 0}] * 3


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
@pytest.mark.parametrize(
    "annotation", ["t.ClassVar[int]", "'t.ClassVar[int]'", "V", "int", "'int'"]
)
def test_an_annotation_is_read_as_dataclass_reads_it(future, annotation, module_of):
    text = (
        f"{future}import typing as t\nfrom typing import ClassVar as V\n@dataclasses.dataclass\n"
        f"class T:\n    n: {annotation} = 1\n    def bump(self):\n        self.n += 1\n"
    )
    type = entity(module_of(text)["T"])

    assert [asked(code, "bump") for code in both(type)] == [asked(type.function, "bump")] * 3


def test_classes_inside_are_captured_with_it():
    assert [asked(code, "look") for code in both(Renamed)] == [{"result": ["a5", 4]}] * 3


def test_a_class_indented_with_tabs_is_captured(module_of):
    scope = module_of(
        "if True:\n\t@entity\n\tclass T:\n\t\tdef f(self):\n\t\t\treturn '''x\n y'''\n"
    )

    assert [asked(code, "f") for code in both(scope["T"])] == [{"result": "x\n y"}] * 3


def test_an_umlaut_before_it_does_not_shift_it(module_of):
    text = "u = 'ü'; é = 2\n@entity\nclass Ü:\n    def f(self): return 'ö', é  # ü\n"

    type = entity(module_of(text.replace("@entity\n", ""))["Ü"], name="u")

    assert [asked(code, "f") for code in both(type)] == [{"result": ("ö", 2)}] * 3


@pytest.mark.parametrize("taken", ["main", "adapter", "inspect", "dataclasses", "FunctionType"])
def test_names_of_the_adapter_do_not_meet_those_of_the_class(taken, module_of):
    constant = f"{taken} = 5\n@entity\nclass T:\n    def f(self):\n        return {taken}\n"
    named = (
        f"@entity\nclass {taken}:\n    def f(self):\n        return {taken}().__class__.__name__\n"
    )

    assert [asked(code, "f") for code in both(module_of(constant)["T"])] == [{"result": 5}] * 3
    assert [asked(code, "f") for code in both(module_of(named)[taken])] == [{"result": taken}] * 3


def test_of_classes_of_one_name_the_right_one_is_captured():
    def made(n):
        if n:

            @entity
            class Same:
                def f(self):
                    return "first"
        else:

            @entity
            class Same:
                class Same:
                    def f(self):
                        return "inner"

                def f(self):
                    return "second"

        return Same

    assert asked(alone(made(1)), "f") == {"result": "first"}
    assert asked(alone(made(0)), "f") == {"result": "second"}
    assert "second" not in capture_class(made(0).type.Same)


def test_captured_code_needs_the_standard_library_only():
    runtime = Account.definition()["exec"]
    message = {"state": None, "operation": "deposit", "params": {"amount": 3}, "key": "k"}
    program = f"{runtime['code']}\nprint({runtime['main']}({message!r}))"

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )

    assert done.stdout.strip() == str(asked(Account.function, "deposit", amount=3)), done.stderr


# --- what cannot travel ------------------------------------------------------------------------


class Base:
    def look(self): ...


class Inheriting(Base):
    def look(self):
        return super().look()


class InheritingEntity(Account):
    def look(self): ...


class Referring:
    def look(self):
        return foreign


class Defaulting:
    def look(self, by=foreign):
        return by


class MethodDecorated:
    @functools.wraps(helper)
    @kept
    def look(self): ...


class Counting:
    def look(self):
        global counter
        counter += 1


class Undefined:
    def look(self):
        return [undefined_name for _ in ()]


class MadeElsewhere:
    n: int = 0

    def look(self):
        return self.n


class Bare:
    look = helper


@pytest.mark.parametrize(
    ("cls", "complaint"),
    [
        (Inheriting, "inherits from 'Base', which cannot be sent to a worker: copy the inherited"),
        (InheritingEntity, "inherits from 'Account', which cannot be sent"),
        (Referring, "refers to 'foreign', a object, which cannot be sent to a worker: move it into"),
        (Defaulting, "refers to 'foreign', a object"),
        (MethodDecorated, "has no method that is written in it"),
        (Counting, "which is defined outside, and only the worker would see the new value: keep it in an attribute of"),
        (Undefined, "uses 'undefined_name', which is not defined here. Define it in the module or"),
        (dataclass(MadeElsewhere), "is a dataclass, but not by a decorator: write @dataclass above"),
        (Bare, "the class 'Bare' has no method that is written in it"),
        (dict, "the class 'dict' has no method that is written in it"),
    ],
)  # fmt: skip
def test_what_a_class_cannot_take_along_is_refused(cls, complaint):
    with pytest.raises(CaptureError) as refusal:
        capture_class(cls)

    assert complaint in str(refusal.value)


def test_a_refusal_says_where_the_class_stands():
    with pytest.raises(CaptureError, match=r"the class 'Counting' \(.*test_entities.py:\d+\) assi"):
        capture_class(Counting)


def test_a_variable_of_the_function_around_it_cannot_be_assigned():
    total = 0

    class Local:
        def bump(self):
            nonlocal total
            total += 1

    with pytest.raises(
        CaptureError, match="assigns a variable that is defined outside: no binding for nonlocal"
    ):
        capture_class(Local)


def test_a_variable_without_a_value_yet_is_refused():
    class Local:
        def bump(self):
            return late

    with pytest.raises(CaptureError, match="closes over 'late', which has no value yet"):
        capture_class(Local)
    late = 1
    assert "late = 1\n" in capture_class(Local)


@pytest.mark.parametrize("text", ["class (", "x = 1\n" * 9, "def T():\n    pass\n    pass\n"])
def test_a_class_without_its_source_is_refused(text, module_of):
    cls = module_of(f"class T:\n    def f(self): ...\n# {text!r}")["T"]
    name = cls.f.__code__.co_filename
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)

    with pytest.raises(
        CaptureError, match=r"the source of the class 'T' .* cannot be read: define"
    ):
        capture_class(cls)


def test_a_function_that_cannot_travel_is_refused_when_the_type_is_deployed():
    type = entity(name="n", operations={"get": lambda state, params: (foreign, None)})

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
