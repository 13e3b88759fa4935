"""The types of `@composer.action` as editors see them: mypy checks this module with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError

if TYPE_CHECKING:
    from collections.abc import Callable


@composer.action
def twice(order: dict[str, int], times: int = 2) -> dict[str, int]:
    return {"n": order["n"] * times}


@composer.action(name="shop/pay", timeout=2.5, memory=128, concurrency=1, annotations={"a": 1})
async def pay(order: dict[str, int]) -> str:
    return str(order["n"])


def test_a_function_that_is_an_action_keeps_its_parameters_and_its_result() -> None:
    result = assert_type(twice({"n": 2}, times=3), dict[str, int])
    direct = composer.action(twice.function, name="direct", timeout=1)
    assert_type(direct({"n": 1}), dict[str, int])

    assert result == {"n": 6}


async def right() -> None:
    assert_type(await pay(order={"n": 2}), str)


def wrong() -> None:
    """Mypy reports each of these lines; it would report an `ignore` that hides nothing, too."""
    twice({"n": 2}, times="3")  # type: ignore[arg-type]
    twice()  # type: ignore[call-arg]
    composer.action(timeout="5")  # type: ignore[call-overload]
    composer.action(seconds=5)  # type: ignore[call-overload]


def test_the_limits_of_an_action_are_openwhisks() -> None:
    assert (pay.name, pay.annotations) == ("shop/pay", {"a": 1})
    assert pay.limits == {"timeout": 2500, "memory": 128, "concurrency": 1}
    assert twice.limits is None
    assert composer.action(limits={"logs": 1}, timeout=5)(wrong).limits == {
        "logs": 1, "timeout": 5000,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"timeout": 0}, "action: 'timeout' must be a number of seconds > 0, not 0"),
        ({"timeout": "5"}, "'timeout' must be a number of seconds > 0, not '5'"),
        ({"timeout": float("nan")}, "'timeout' must be a number of seconds > 0, not nan"),
        ({"timeout": float("inf")}, "'timeout' must be a number of seconds > 0, not inf"),
        ({"memory": 128.5}, "'memory' must be a whole number of megabytes > 0, not 128.5"),
        ({"memory": True}, "'memory' must be a whole number of megabytes > 0, not True"),
        ({"concurrency": -1}, "'concurrency' must be a whole number of runs > 0, not -1"),
        (
            {"timeout": 5, "limits": {"timeout": 5000}},
            "give either 'timeout' or limits\\['timeout'\\]",
        ),
        ({"memmory": 5}, "action: unknown argument 'memmory'; a function's action takes timeout, "),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(options: dict[str, Any], why: str) -> None:
    decorate: Callable[..., Any] = composer.action

    with pytest.raises(CompositionError, match=why):
        decorate(**options)(wrong)


def test_an_option_that_is_none_is_left_out() -> None:
    def work(params: dict[str, Any]) -> dict[str, Any]:
        return params

    decorated = composer.action(timeout=None, memory=256)(work)

    assert decorated.limits == {"memory": 256}


def test_an_action_names_the_packages_that_it_imports() -> None:
    @composer.action(requirements=["requests>=2.31"])
    def fetch(order: dict[str, int]) -> dict[str, int]:
        return order

    deployed = fetch.definition()["exec"]
    assert isinstance(deployed, dict)
    assert deployed["requirements"] == ["requests>=2.31"]
    assert "requirements" not in str(composer.action(fetch.function).definition())


@pytest.mark.parametrize("wrong", ["requests", [1], [""], {"requests": "1"}])
def test_requirements_are_a_list_of_texts(wrong: Any) -> None:
    with pytest.raises(CompositionError, match="'requirements' must be a list such as"):
        composer.action(requirements=wrong)(twice.function)
