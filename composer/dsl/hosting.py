"""Why an OpenWhisk conductor action cannot run a combinator: the reasons that combinators share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ONE_THREAD: Final = (
    "a conductor action has one thread of control, and OpenWhisk cannot join branches"
)
NO_TIMER: Final = "nothing wakes a conductor action at a given time"
NO_STORE: Final = "it needs a store that survives a crash, and a conductor action has none"
NO_KEY: Final = "a conductor action has no key to start another execution"
NO_QUERIES: Final = "only a Xingqiao server answers queries"
NO_UPDATES: Final = "only executions of a Xingqiao server are updated"
NO_MESSAGES: Final = "only executions of a Xingqiao server are told messages"
NO_LIMITS: Final = "a limit that waits needs a server, which keeps its line"
NO_SEARCH: Final = "executions are found by attributes only on a Xingqiao server"
NO_EVENTS: Final = "only a Xingqiao server takes the CloudEvents that a composition emits"
NO_ENTITIES: Final = "entities exist only on a Xingqiao server"


def never(why: str) -> Callable[[Mapping[str, Any]], str]:
    """The `unhosted` of a combinator that a conductor action can never run."""
    return lambda _: why
