"""Retries, handlers, fallbacks and deadlines."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError
from xingqiao.composer.testing import Fail, simulate

A = composer.action("a")


@pytest.mark.parametrize("errors", ["Timeout", ["Timeout"], ("Timeout",), {"Timeout"}])
def test_errors_are_one_name_or_several(errors):
    assert composer.do("a", "b", errors=errors).arguments["errors"] == ("Timeout",)


class BusyError(Exception):
    """A failure of the user's own."""


@pytest.mark.parametrize("errors", [BusyError, [BusyError], {BusyError}, "BusyError"])
def test_a_class_of_exceptions_is_taken_by_its_name(errors):
    assert composer.do("a", "b", errors=errors).arguments["errors"] == ("BusyError",)
    assert composer.retry(1, "a", errors=errors).to_json()["errors"] == ["BusyError"]
    assert A.catch("h", errors=errors) == A.catch("h", errors="BusyError")


def test_what_fails_falls_back_on_the_next_with_the_same_input():
    patient = composer.fallback("a", "b", "c")
    fakes = {"a": Fail("Down"), "b": Fail("Busy"), "c": lambda params: {"c": params}}

    assert simulate(patient, {"n": 1}, actions=fakes).value == {"c": {"n": 1}}
    assert simulate(patient, {"n": 1}, actions={**fakes, "a": {"ok": 1}}).value == {"ok": 1}
    assert simulate(patient, {"n": 1}, actions={**fakes, "c": Fail("Gone")}).error["code"] == "Gone"


def test_only_named_failures_fall_back():
    picky = composer.fallback("a", "b", errors="Down")

    assert simulate(picky, actions={"a": Fail("Down"), "b": {"b": 1}}).value == {"b": 1}
    assert simulate(picky, actions={"a": Fail("Other"), "b": {"b": 1}}).error["code"] == "Other"


WRONG = [
    (lambda: composer.retry("3", "a"), "retry: 'count' must be an int >= 0, not '3'"),
    (lambda: composer.retry(1, "a", delay=-1), "retry: 'delay' must be a number >= 0 and <= "),
    (lambda: composer.retry(1, "a", backoff=0.5), "retry: 'backoff' must be a number >= 1, not 0.5"),
    (lambda: composer.retry(1, "a", delay=1, jitter=2), "retry: 'jitter' must be a number >= 0 and"),
    (lambda: composer.retry(1, "a", errors=[""]), "retry: 'errors' must be names of failures"),
    (lambda: composer.retry(1, "a", errors=int), "'errors' must be names of failures or classes of"),
    (lambda: composer.retry(1, "a", errors=[BaseException]), "exceptions .subclasses of Exception"),
    (lambda: composer.retry(1, "a", until="yes"), "retry: 'until' must be a predicate such as"),
    (lambda: composer.retry(1, "a", on_exhausted="stop"), "'on_exhausted' must be one of 'raise', 'p"),
    (lambda: composer.retry(1, "a", jitter=0.5), "'backoff', 'max_delay' and 'jitter' need a 'delay'"),
    (lambda: composer.retry(1, "a", delay=5, max_delay=1), r"'max_delay' \(1\) must not be less"),
    (lambda: composer.fallback("a"), "fallback: give at least two parts"),
    (lambda: composer.timeout(0, "a"), "timeout: 'seconds' must be a number > 0"),
    (lambda: A.retry(1, dealy=1), "retry: unknown argument 'dealy'; it takes count, components"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "why"), WRONG, ids=[why for _, why in WRONG])
def test_wrong_use_is_refused_with_the_argument_named(build, why):
    with pytest.raises(CompositionError, match=why):
        build()
