"""Writes a composition's parts down as states, and notes those that have no counterpart."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias, final

from ....dsl.combinators.data import ASSIGN, PREDICATE
from ....freezing import frozen
from ....names import Name
from ..resources import is_function
from .expressions import (
    INPUT,
    InexpressibleError,
    boxed_expression,
    boxing,
    condition,
    dynamic,
    needed,
    true,
)
from .states import MASK, Label, Rule, Sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ....dsl.composition import Composition, Row
    from ....expressions import Template
    from ....values import JSON

    Part: TypeAlias = "Callable[[Writer, Composition], None]"
    Counterparts: TypeAlias = Mapping[Row, Part | str]

HELD: Final = true(f"{INPUT}.value")
NO_COUNTERPART: Final = "it has no counterpart"


@final
@frozen
class Flaw:
    """A part without a counterpart: its place, its combinator, and the reason."""

    path: str
    combinator: str
    why: str


@final
class Writer:
    """Writes a composition's parts on the sheet of their machine or branch."""

    def __init__(
        self,
        sheet: Sheet,
        resource: Callable[[str], str],
        counterparts: Counterparts,
    ) -> None:
        self.sheet = sheet
        self.flaws: list[Flaw] = []
        self.resource = resource
        self._counterparts = counterparts  # of a combinator, or why there is none
        self._path = ""
        self._resources: dict[str, str] = {}

    def part(self, where: str, node: Composition) -> None:
        """Writes the states of a part; `where` is its place in the part around it."""
        outer = self._path
        self._path = ".".join(filter(None, (outer, where)))
        counterpart = self._counterparts.get(node.row, NO_COUNTERPART)
        try:
            if isinstance(counterpart, str):
                self.flaw(node, counterpart)
            else:
                counterpart(self, node)
        except InexpressibleError as error:
            self.flaw(node, str(error))
        finally:
            self._path = outer

    def parts(self, node: Composition) -> None:
        """Writes the states of a node's components, in sequence."""
        for index, part in enumerate(node.arguments["components"]):
            self.part(f"components[{index}]", part)
        if not node.arguments["components"]:
            self.sheet.check("Input")

    def flaw(self, node: Composition, why: str) -> None:
        self.flaws.append(Flaw(self._path, node.type, why))

    def task(self, node: Composition) -> tuple[str, str]:
        """The name of a Task that runs an action, and its Resource."""
        name = node.arguments["name"]
        resource = self.resource(name)
        if self._resources.setdefault(resource, name) != name:
            self.flaw(node, f"{name} and {self._resources[resource]} would both be {resource}")
        if resource.startswith("arn:") and not is_function(resource):
            self.flaw(node, f"{resource} is not a name of a Lambda function")
        return Name.parse(name).name, resource

    def variable(self, name: str) -> str:
        """The name in the machine of a `let` variable that is visible here.

        Raises:
            InexpressibleError: there is none.
        """
        for scope in visible(self.sheet.scopes):
            if name in scope:
                return scope[name]
        raise InexpressibleError(f"no enclosing let declares {name!r}")

    @contextmanager
    def branch(self, node: Composition) -> Iterator[Sheet]:
        """A machine inside this one, with variables of its own for those that its parts set."""
        outer = self.sheet
        copies: dict[str, JSON] = {}
        scopes = []
        wanted = assigned(node)
        for scope in outer.scopes:
            own = {name: outer.names.variable(name) for name in scope if name in wanted}
            copies |= {own[name]: dynamic(f"${scope[name]}") for name in own}
            scopes.append(MASK if scope is MASK else {**scope, **own})
        self.sheet = Sheet(outer.names, tuple(scopes))
        if copies:
            self.sheet.state("Own variables", "Pass", Assign=copies)
        try:
            yield self.sheet
        finally:
            self.sheet = outer


def visible(scopes: tuple[dict[str, str], ...]) -> Iterator[dict[str, str]]:
    """The scopes that no mask hides, inner ones first."""
    hidden = 0
    for scope in reversed(scopes):
        if scope is MASK:
            hidden += 1
        elif hidden:
            hidden -= 1
        else:
            yield scope


def assigned(node: Composition) -> set[str]:
    """The variables that a part may set."""
    return {name for part in node.walk() if part.row is ASSIGN for name in part.arguments["values"]}


# --- shared by several combinators ---------------------------------------------------------------


@final
@frozen
class Kept:
    """A value that was put into a variable; `clean` is True if it surely has no field `error`."""

    variable: str
    clean: bool

    @property
    def output(self) -> str:
        return dynamic(f"${self.variable}")

    def when(self, condition: str, to: Label) -> Rule:
        """A rule that goes on with the value."""
        return Rule(condition, to, self.output, self.clean)


def invoke(w: Writer, node: Composition, **fields: JSON) -> None:
    """Writes a Task for an action. A result that is not an object is boxed; a field `error` is a failure."""
    name, resource = w.task(node)
    output = dynamic(boxed_expression("$states.result"))
    w.sheet.fallible(name, "Task", Resource=resource, **fields, Output=output)
    w.sheet.clean = False
    w.sheet.check(name)


def keep(w: Writer, name: str, **variables: JSON) -> Kept:
    """Puts the value into a variable, and others beside it."""
    kept = Kept(w.sheet.names.variable("input"), w.sheet.clean)
    w.sheet.state(name, "Pass", Assign={kept.variable: dynamic(INPUT), **variables})
    return kept


def need(w: Writer, name: str, *templates: Template) -> None:
    """Fails like the composition if a template finds nothing. Without a handler the state itself fails."""
    if w.sheet.handler is None:
        return
    for template in templates:
        for place, selector in needed(template, w.variable):
            why = f"{selector!r}: selects nothing"
            unless(w, f"{name} has {selector!r}?", f"$exists({place})", ("ExpressionError", why))


def unless(w: Writer, name: str, met: str, error: tuple[str, str]) -> None:
    """Fails with the error of this code and message, unless the condition holds."""
    output: JSON = {"error": {"code": error[0], "message": error[1]}}
    w.sheet.choice(name, Rule(f"$not({met})", w.sheet.target, output, clean=False))


def evaluate(w: Writer, name: str, template: Template, **fields: JSON) -> None:
    """The value becomes the filled template."""
    output = boxing(template, w.variable)
    w.sheet.state(name, "Pass", Output=output, **fields)
    if isinstance(output, dict):
        w.sheet.clean = "error" not in output
    elif template.selector is not None and output != dynamic(INPUT):
        w.sheet.clean = False
    w.sheet.check(name)


def branch_on_test(
    w: Writer, name: str, node: Composition, yes: Label, no: Label | None = None
) -> None:
    """Goes on with the value, to one label or the other, by the test of `node`."""
    tested: Composition = node.arguments["test"]
    if tested.row is PREDICATE:
        held = condition(tested.arguments["predicate"], w.variable)
        w.sheet.choice(name, Rule(held, yes), otherwise=no)
        return
    kept = keep(w, f"Before {name}")
    w.part("test", tested)
    w.sheet.clean = kept.clean
    w.sheet.choice(name, kept.when(HELD, yes), otherwise=no, Output=kept.output)
