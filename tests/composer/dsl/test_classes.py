"""Classes: captured as source, and defined anew where only that source is."""
# ruff: noqa: F821, PLW0603, UP037
# (what is captured here is odd on purpose)

from __future__ import annotations

import abc
import dataclasses
import functools
import linecache
import math
import typing
from dataclasses import InitVar, dataclass, field
from dataclasses import dataclass as record
from functools import partial
from typing import ClassVar

import pytest

from tests.kit.composer.modules import defined
from tests.kit.transactions.types import Account, alone, asked, both
from xingqiao.composer import CaptureError, capture_class
from xingqiao.transactions import entity

FEE = 1


dataclasses_ = dataclasses


globals()["foreign"] = object()  # no statement defines the name `foreign`


counter = 0


def helper():
    return 1


def kept(cls):
    return cls


@pytest.fixture
def module_of(monkeypatch):
    return partial(defined, monkeypatch, entity=entity, dataclasses=dataclasses)


def made(**members):
    return type("Made", (), {"look": lambda self: None, **members})


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
    with pytest.raises(CaptureError, match=r"the class 'Counting' \(.*test_classes.py:\d+\) assi"):
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
