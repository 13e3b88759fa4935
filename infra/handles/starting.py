"""The arguments of a start, of which `invoke`, `run` and `start` take the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ...actions import StartOptions, check_token, checked_ms

if TYPE_CHECKING:
    from ...composer import JSON


class StartArguments(TypedDict, total=False):
    """Arguments of `start`, `run` and `invoke`, given by name.

    Args:
        id: your id for the execution, unique among the open executions.
        on_open: what happens if an execution with this id is open: `fail`, `use` it, use it only if it has the
            `same` action and parameters, or `terminate` it and start.
        on_closed: what happens if the newest execution with this id has ended: `allow` the start, allow it
            only if that has failed (`allow_failed`), or `reject` it.
        token: an idempotency key: all calls with the same key start one execution. The client of a server
            makes its own if there is none, so that an answer that is lost does not run the action twice.
        attributes: by which the execution is found; the namespace declares them.
        memo: JSON that is shown with the execution.
        execution_timeout: seconds for the whole execution, with the runs that continue it.
        run_timeout: seconds for one run of it.
    """

    id: str
    on_open: str
    on_closed: str
    token: str
    attributes: dict[str, JSON] | None
    memo: JSON
    execution_timeout: float | None
    run_timeout: float | None


def started_with(  # noqa: PLR0913  each is an argument of a start
    *,
    id: str = "",
    on_open: str = "fail",
    on_closed: str = "allow",
    token: str = "",
    attributes: dict[str, JSON] | None = None,
    memo: JSON = None,
    execution_timeout: float | None = None,
    run_timeout: float | None = None,
) -> tuple[str, StartOptions]:
    """The token and the options that the arguments of a start say.

    Raises:
        InvalidError: the token or a timeout is not valid.
    """
    if token:
        check_token(token)
    return token, StartOptions(
        id=id,
        on_open=on_open,
        on_closed=on_closed,
        attributes=attributes or {},
        memo=memo,
        execution_timeout_ms=checked_ms(execution_timeout, "'execution_timeout'"),
        run_timeout_ms=checked_ms(run_timeout, "'run_timeout'"),
    )
