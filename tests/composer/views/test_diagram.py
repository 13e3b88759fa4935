"""Drawings: every part is there, once; nested parts are clusters; labels cannot break out."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings

from tests.kit.composer.compositions import compositions
from xingqiao import composer
from xingqiao.composer import after, dot, mermaid, path, var

HOSTILE = 'x"]; evil -> n0 [label="\\ <b>&\n'


def nodes(drawing):
    return re.findall(r"^ *(n\d+) ?[\[({]", drawing, flags=re.MULTILINE)


def edges(drawing):
    arrow = r"^ *(n\d+) --?>(?:\|\"(.*?)\"\|)? ?(n\d+)(?: \[label=\"(.*?)\"\])?;?$"
    return [
        (start, end, before or label)
        for start, before, end, label in re.findall(arrow, drawing, flags=re.MULTILINE)
    ]


@pytest.mark.parametrize("draw", [dot, mermaid])
def test_a_sequence_is_a_line(draw):
    drawing = draw(composer.sequence("a", "pkg/b"))

    assert nodes(drawing) == ["n0", "n1", "n2", "n3"]
    assert [(s, e) for s, e, _ in edges(drawing)] == [("n0", "n1"), ("n1", "n2"), ("n2", "n3")]
    assert all(label in drawing for label in ('"start"', '"a"', '"pkg/b"', '"end"'))


def test_a_choice_has_two_ways_that_meet_again():
    drawing = mermaid(composer.when(path("$.n") > 1, "a", "b"))

    assert 'n1{"$.n &gt; 1"}' in drawing
    assert ("n1", "n2", "yes") in edges(drawing)
    assert ("n1", "n3", "no") in edges(drawing)
    assert ("n2", "n4", "") in edges(drawing)
    assert ("n3", "n4", "") in edges(drawing)


def test_a_test_that_is_no_predicate_comes_before_the_choice():
    drawing = dot(composer.when("ask", "a"))

    assert [label for _, _, label in edges(drawing)] == ["", "", "yes", "", "no"]


@pytest.mark.parametrize(
    ("loop", "back"),
    [
        (composer.loop(path("$.n") > 0, "a"), ("n2", "n1", "")),
        (composer.loop("ask", "a"), ("n3", "n1", "")),
        (
            composer.loop(path("$.n") > 0, composer.loop(path("$.m") > 0, None)),
            ("n2", "n1", "done"),
        ),
        (composer.doloop("a", path("$.n") > 0), ("n3", "n1", "again")),
    ],
)
def test_a_loop_leads_back(loop, back):
    assert back in edges(mermaid(loop))


def test_eca_and_switch_show_every_way():
    eca = edges(mermaid(composer.eca(path("$.x").exists(), "a")))
    other = edges(mermaid(composer.eca(path("$.x").exists(), "a", otherwise="b")))
    cases = composer.switch(path("$.kind"), {"x": "a", "y": "b"}, default="c")

    assert [label for _, _, label in eca if label] == ["yes", "no"]
    assert len(other) == 5
    assert [label for _, _, label in edges(mermaid(cases)) if label] == ["x", "y", "else"]
    assert len(edges(mermaid(composer.switch("ask", {"x": "a"})))) == 4


def test_nested_parts_are_clusters():
    part = composer.do(composer.retry(3, "a", delay=2), composer.ensure("b", "c"))

    drawing = mermaid(composer.timeout(60, part))

    titles = re.findall(r'subgraph \w+\["(.*)"\]', drawing)
    assert titles == ["within 60 s", "try", "retry 3x, 2 s apart", "on error", "ensure", "finally"]
    assert drawing.count("end\n") >= len(titles)
    assert dot(part).count("subgraph cluster_") == 5


def test_branches_run_between_two_bars():
    for part in (composer.parallel("a", "b"), composer.race("a", "b")):
        drawing = mermaid(part)
        assert drawing.count("[[") == 2
        assert len(edges(drawing)) == 6
    assert "map, 4 at a time" in mermaid(composer.map("a", concurrency=4))
    assert len(edges(mermaid(composer.parallel()))) == 3


def test_a_graph_is_drawn_along_its_dependencies():
    drawing = mermaid(composer.graph({"z": after(["x", "y"], "c"), "x": "a", "y": after("x", "b")}))

    names = dict(re.findall(r'(n\d+)\("(\w)"\)', drawing))
    drawn = {(names.get(s), names.get(e)) for s, e, _ in edges(drawing)}
    assert {("a", "b"), ("a", "c"), ("b", "c")} <= drawn
    assert re.findall(r'subgraph \w+\["(.)"\]', drawing) == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("part", "label"),
    [
        (composer.literal({"a": [1, "x"]}), "{a: [1, 'x']}"),
        (composer.select({"n": path("$.a.b"), "m": var("v")}), "{n: $.a.b, m: v}"),
        (composer.assign(x=1, y=path("$.y")), "set x, y"),
        (composer.wait(5), "wait 5 s"),
        (composer.wait(until="2026-11-21T00:00:00Z"), "wait until 2026-11-21T00:00:00Z"),
        (composer.raise_error("No"), "raise No"),
        (composer.dynamic(), "dynamic"),
        (composer.retry(None, "a"), "retry until it succeeds"),
        (composer.repeat(3, "a"), "repeat 3x"),
        (composer.let({"x": 1, "y": "z"}, "a"), "let x = 1, y = z"),
        (composer.forward(["a"], "b", into="c"), "forward into c"),
        (composer.function(lambda params: params), "λ main = (lambda params: params)"),
        (composer.literal("x" * 100), "x" * 47 + "…"),
        (composer.literal({"$path": 1, "$var": "v"}), "v"),
    ],
)
def test_a_part_says_what_it_does(part, label):
    assert f'label="{label}"' in dot(part)


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (path("$.n") == 1, "$.n = 1"),
        (path("$.n") != "x", "$.n ≠ 'x'"),
        (path("$.n") <= path("$.m"), "$.n ≤ $.m"),
        ((path("$.n") >= 1) & (var("x") < 2), "($.n ≥ 1 and x < 2)"),
        ((path("$.n") > 1) | ~path("$.m").exists(), "($.n > 1 or not $.m exists)"),
        (path("$.n").is_true(), "$.n is true"),
        (path("$.n").matches("a.*"), "$.n matches 'a.*'"),
    ],
)
def test_a_predicate_reads_as_it_is_written(predicate, text):
    assert f'label="{text}"' in dot(composer.when(predicate, "a"))


@pytest.mark.parametrize("draw", [dot, mermaid])
def test_no_label_breaks_out(draw):
    drawing = draw(composer.sequence(composer.literal(HOSTILE), composer.let({"x": HOSTILE}, "a")))

    assert nodes(drawing) == ["n0", "n1", "n2", "n3"]
    assert len(edges(drawing)) == 3


@given(compositions(timed=True))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_drawing_is_whole(composition):
    for draw in (dot, mermaid):
        drawing = draw(composition)
        known = set(nodes(drawing))
        assert {end for s, e, _ in edges(drawing) for end in (s, e)} <= known
        assert len(known) == len(nodes(drawing))
