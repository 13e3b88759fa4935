"""Slices of modules: the statements that a function needs, and no others."""

from __future__ import annotations

import linecache

import pytest

from xingqiao.composer import capture_class
from xingqiao.composer.dsl.functions import capture
from xingqiao.composer.dsl.slicing import outline
from xingqiao.composer.errors import CaptureError

MODULE = '''"""A shop."""
import os, re
import logging
from decimal import Decimal as D

from xingqiao import composer

logging.basicConfig(level=10)
RATE = D("0.2")
PRICES = {}
PRICES["apple"] = RATE
_WORD = re.compile(r"\\w+"); unit = "kg"

try:
    import fast
except ImportError as missing:
    fast = missing

def words(text):
    """All words."""
    return _WORD.findall(text)

class Order:
    limit: int = 3

    def total(self):
        return self.limit * RATE

@composer.action(
    timeout=5,
)
@staticmethod
def price(params):
    pipeline = PRICES[params["item"]]
    return {"price": str(pipeline), "words": len(words("a b"))}

@composer.action
def quick(params):
    return fast.run(params)

def composed(params):
    return composer.sequence("x")

pipeline = composer.sequence(price, lambda p: words(p))
names = [step.type for step in pipeline.walk()]
print(pipeline, PRICES)

if __name__ == "__main__":
    price({"item": "apple"})
'''


def sliced(*names, text=MODULE):
    module = outline(text)
    return module.text(module.needed(names, "f"))


def test_a_slice_has_the_statements_that_a_function_needs_and_no_others():
    assert sliced("words") == (
        'import os, re\n_WORD = re.compile(r"\\w+"); unit = "kg"\n'
        'def words(text):\n    """All words."""\n    return _WORD.findall(text)\n'
    )


def test_a_decorator_that_composes_stays_behind_and_others_are_sent():
    text = sliced("price")

    assert "composer" not in text
    assert "@staticmethod\ndef price(params):\n" in text


def test_a_statement_that_changes_a_needed_value_is_sent_unless_it_composes():
    assert 'PRICES["apple"] = RATE\n' in sliced("PRICES")
    assert "logging.basicConfig" in sliced("logging")
    assert "print(" not in sliced("PRICES")


def test_a_statement_of_statements_is_sent_as_a_whole():
    assert sliced("quick").startswith("try:\n    import fast\nexcept ImportError as missing:\n")
    assert sliced("missing") == sliced("fast")


def test_a_local_variable_is_not_the_name_of_the_module():
    scope = {}
    exec(sliced("price"), scope)

    assert scope["price"]({"item": "apple"}) == {"price": "0.2", "words": 2}


@pytest.mark.parametrize("name", ["composed", "pipeline", "names"])
def test_a_statement_that_composes_is_refused_with_its_line(name):
    line = 1 + next(
        at for at, text in enumerate(MODULE.split("\n"))
        if text.startswith("    return composer" if name == "composed" else f"{name} = ")
    )  # fmt: skip

    with pytest.raises(CaptureError, match=rf"^f needs line {line}, which uses '\w+': the comp"):
        sliced(name)


def test_names_of_a_module_are_those_that_exist_without_composing():
    names = outline(MODULE).names

    assert {"words", "Order", "price", "composed", "PRICES", "unit"} <= names
    assert names.isdisjoint({"composer", "pipeline", "names"})


def test_lines_keep_their_numbers_when_the_rest_is_blank():
    module = outline(MODULE)
    text = module.blanked(module.needed(["words"], "f"))

    assert text.split("\n")[18] == "def words(text):"
    assert module.blanked(()) == ""


def test_names_that_are_known_bring_nothing_along():
    module = outline(MODULE)

    blocks = module.needed(["words", "RATE"], "f", known=lambda name: name in ("_WORD", "RATE"))

    assert module.text(blocks).startswith("def words")


def test_annotations_count_where_they_are_evaluated_and_in_classes():
    text = "import decimal\ndef f(n: decimal.Decimal): ...\nclass C:\n    n: decimal.Decimal\n"

    assert "import decimal" in sliced("f", text=text)
    assert sliced("f", text=f"from __future__ import annotations\n{text}") == (
        "def f(n: decimal.Decimal): ...\n"
    )
    assert sliced("C", text=f"from __future__ import annotations\n{text}").startswith("import dec")


def test_an_import_of_all_names_is_sent_for_a_name_that_no_statement_binds():
    text = "from a import *\nimport b\ndef f(): return g(len(b.c))\ndef h(): return __name__\n"

    assert sliced("f", text=text).startswith("from a import *\nimport b\n")
    assert sliced("h", text=text) == "def h(): return __name__\n"


def test_values_of_match_loops_and_functions_are_bound_where_they_are():
    text = (
        "import sys\nmatch sys.argv:\n    case [first, *rest]: ...\n"
        "for each in [n for n in sys.argv if n]:\n    last = each\n"
        "pick = lambda n: n\nn: int\ntwice = last.a = pick\ndel sys\n"
    )

    assert outline(text).names == {
        "sys", "first", "rest", "each", "last", "pick", "twice",
    }  # fmt: skip


def test_comprehensions_and_classes_compose_when_the_module_is_loaded():
    text = (
        "import xingqiao.composer\nsteps = [xingqiao.composer.action(n) for n in 'ab']\n"
        "class C:\n    step = xingqiao\nlater = lambda: xingqiao\nlast = steps[0]\n"
    )

    assert outline(text).composing == {"xingqiao", "steps", "C", "last"}
    assert outline(text).names == {"later"}


# --- inline functions ----------------------------------------------------------------------------


def module_of(text):
    """The names that a module of this text defines, with its source to be found."""
    name = f"<module {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict = {"__name__": "made"}
    exec(compile(text, name, "exec", dont_inherit=True), scope)
    return scope


def remade(function):
    runtime = capture(function)
    scope: dict = {}
    exec(compile(runtime["code"], "<captured>", "exec", dont_inherit=True), scope)
    return scope[runtime["main"]]


HELPED = """
import re
RATE = 3
WORD = re.compile("[a-z]+")
class Line:
    def __init__(self, n): self.n = n
def helper(n):
    return Line(n * RATE + later(1))
f = lambda p: helper(p).n
def g(p):
    return [f(p), WORD.findall("a b")]
def h(p) -> Line:
    return helper(p).n
def loop(n):
    return 0 if n < 1 else bounce(n)
def bounce(n):
    return 1 + loop(n - 1)
def later(n):
    return n
"""


@pytest.mark.parametrize("postponed", ["", "from __future__ import annotations\n"])
def test_an_inline_function_takes_what_it_needs_of_its_module_along(postponed):
    scope = module_of(postponed + HELPED)

    for name in ("f", "g", "h", "loop"):
        assert remade(scope[name])(2) == scope[name](2)


def test_values_are_sent_as_they_are_when_the_function_is_captured():
    scope = module_of(HELPED)
    scope["RATE"] = 5

    assert remade(scope["f"])(2) == 11
    assert "RATE = 5\n" in capture(scope["f"])["code"]


def test_a_helper_that_composes_is_refused_with_its_line():
    scope = module_of(
        "from xingqiao import composer\ndef helper():\n    return composer.empty()\nf = lambda p: helper()\n"
    )

    with pytest.raises(CaptureError, match=r"^the function '<lambda>' \(.*:4\) needs line 3, whi"):
        capture(scope["f"])


class OursError(Exception):
    pass


def raising():
    raise OursError


class Calling:
    def look(self):
        return raising()


def test_a_class_takes_the_functions_and_classes_of_its_module_along():
    scope: dict = {}
    exec(capture_class(Calling), scope)

    with pytest.raises(scope["OursError"]):
        scope["Calling"]().look()
