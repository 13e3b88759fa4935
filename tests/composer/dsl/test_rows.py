"""Adding a combinator takes one constructor and one row beside it, in one module: here, a toy."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError, path
from xingqiao.composer.dsl.arguments import DELAY, Argument
from xingqiao.composer.dsl.composition import ROWS, Effect, InComposer, Row, build, define
from xingqiao.composer.dsl.drawing import draw_components, title
from xingqiao.composer.dsl.grammar import COMPONENTS
from xingqiao.composer.dsl.hosting import NO_TIMER
from xingqiao.composer.dsl.lowering import lower_components
from xingqiao.composer.expressions import Template
from xingqiao.composer.languages import asl
from xingqiao.composer.languages.asl.export.combinators import COUNTERPARTS
from xingqiao.composer.languages.asl.export.export import plain_name
from xingqiao.composer.languages.asl.export.states import Names, Sheet
from xingqiao.composer.languages.asl.export.writer import Writer
from xingqiao.composer.machine import instructions as i
from xingqiao.composer.testing import simulate

# --- all that a combinator takes -----------------------------------------------------------------


def twice(*parts, gap=0):
    """The parts in sequence, and `gap` seconds later once more on their result."""
    return build(TWICE, components=parts, gap=gap)


def check(arguments):
    if not arguments["components"]:
        yield "give at least one part"


def lower(a, node):
    lower_components(a, node)
    a.emit(i.Sleep, template=Template.of(node.arguments["gap"]), until=False, path=a.path)
    lower_components(a, node)


def draw(canvas, node, ends):
    def drawn():
        again = canvas.leaf("again", draw_components(canvas, node, ends), "point")
        return draw_components(canvas, node, again)

    return canvas.cluster(title(node), drawn)


TWICE = define(
    Row(
        type="twice",
        name="twice",
        arguments={**COMPONENTS, "gap": Argument(DELAY, 0.0)},
        check=check,
        lower=lower,
        draw=draw,
        title=lambda args: f"twice, {args['gap']:g} s apart",
        effect=Effect.NONE,
        composer=InComposer(names=("double",)),
        unhosted=lambda args: NO_TIMER if args["gap"] else None,
    )
)


def write_states(w, node):
    """The one function that a language takes, to stand in its table."""
    w.parts(node)
    w.sheet.state("Gap", "Wait", Seconds=int(node.arguments["gap"]))
    w.parts(node)


# --- and all that it has of that -----------------------------------------------------------------

COMPOSITION = composer.sequence(twice("count", gap=5), "tell")


def test_it_is_checked_with_its_name_and_its_arguments():
    with pytest.raises(CompositionError, match=r"^twice: give at least one part$"):
        twice()
    with pytest.raises(CompositionError, match=r"^twice: 'gap' must be a number >= 0"):
        twice("count", gap=-1)


@pytest.mark.parametrize("crash", [(), "every"])
def test_it_compiles_and_runs_and_survives_crashes(crash):
    run = simulate(
        COMPOSITION,
        {"n": 1},
        actions={"count": lambda params: {"n": params["n"] + 1}, "tell": lambda params: params},
        crash=crash,
    )

    assert run.value == {"n": 3}
    assert run.elapsed == 5
    assert len({invocation.activation for invocation in run.invocations}) == 3


def test_it_stands_in_other_combinators():
    composition = composer.when(path("$.n") > 0, composer.retry(1, twice("count")))
    run = simulate(composition, {"n": 1}, actions={"count": {"n": 0}})

    assert len(run.calls("count")) == 2


def test_it_goes_through_json_and_stays_the_same():
    doc = json.loads(json.dumps(COMPOSITION.to_json()))
    again = composer.parse(doc)

    assert doc["components"][0] == {
        "type": "twice",
        "components": [{"type": "action", "name": "/_/count"}],
        "gap": 5.0,
    }
    assert again == COMPOSITION
    assert composer.compile(again).hash == composer.compile(COMPOSITION).hash


def test_composer_s_json_may_call_it_by_its_name_there():
    tree = {"type": "double", "components": [{"type": "action", "name": "/_/count"}], "gap": 5}

    assert composer.read_composer(tree) == twice("count", gap=5)
    assert composer.forks(tree) is False


@pytest.mark.parametrize("write", [composer.dot, composer.mermaid])
def test_it_is_drawn(write):
    drawing = write(COMPOSITION)

    assert '"twice, 5 s apart"' in drawing
    assert drawing.count('"count"') == 2
    assert drawing.count('"again"') == 1


def test_it_is_exported_by_one_function_and_refused_without():
    writer = Writer(Sheet(Names()), plain_name, {**COUNTERPARTS, TWICE: write_states})
    writer.part("", COMPOSITION)
    definition = writer.sheet.definition()

    assert [name for name in definition["States"] if "failed" not in name.lower()] == [
        "count", "Gap", "count 2", "tell", "Done"
    ]  # fmt: skip
    with pytest.raises(asl.ExportError) as refused:
        asl.export(COMPOSITION)
    assert [(flaw.path, flaw.combinator, flaw.why) for flaw in refused.value.flaws] == [
        ("components[0]", "twice", "it has no counterpart")
    ]


def test_it_says_why_a_conductor_action_cannot_run_it():
    assert TWICE.unhosted(twice("count", gap=5).arguments) == NO_TIMER
    assert TWICE.unhosted(twice("count").arguments) is None


def test_it_stands_in_sagas_and_transactions_as_its_effect_allows():
    composer.saga(twice(composer.step("count", "tell")))
    composer.transaction(twice(composer.call("account", "k", "add")))

    with pytest.raises(CompositionError, match="'/_/count' may have an effect: make it a step"):
        composer.saga(twice("count"))


def test_without_a_word_about_its_effect_it_may_have_any():
    silent = Row(type="silent", name="silent", lower=lower, arguments=COMPONENTS)
    node = build(silent, components=[composer.call("account", "k", "add")])

    with pytest.raises(CompositionError, match="'silent' may have an effect: make it a step"):
        composer.saga(node)
    with pytest.raises(CompositionError, match="'silent' cannot stand in a transaction"):
        composer.transaction(node)


def test_a_type_is_defined_once():
    with pytest.raises(ValueError, match="there is a combinator 'twice' already"):
        define(TWICE)

    assert ROWS["twice"] is TWICE
