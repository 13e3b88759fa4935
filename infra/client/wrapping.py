"""The synchronous face of an asynchronous class: the same methods, run by an event loop in a thread."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ..handles import Listing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from ..handles import Document

ItemT_co = TypeVar("ItemT_co", covariant=True)
Result = TypeVar("Result")
_END: Any = object()
_FACES: dict[type, Any] = {}  # asynchronous class: its face
_ASYNCHRONOUS = re.compile(r"\b(Remote|(?=(Listing|Worker)\b))")


class Loop:
    """An event loop in a thread of its own, so that it works in programs with a loop and without."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="xingqiao.client", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Runs a coroutine to its end. An interrupt of this thread cancels it."""
        if self._loop is None or not self._thread.is_alive():
            coroutine.close()
            raise RuntimeError("the client is closed: use it inside its block `with connect()`")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _serve(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._stop.wait()


class Face:
    """The synchronous face of one object."""

    def __init__(self, loop: Loop, of: Any) -> None:
        self._loop, self._of = loop, of

    def __repr__(self) -> str:
        return repr(self._of)

    def __str__(self) -> str:
        return str(self._of)


class BlockingListing(Generic[ItemT_co]):
    """A list that is read when it is used: `for` goes over all of it, `page` returns documents."""

    def __init__(self, loop: Loop, of: Listing[Any]) -> None:
        self._loop, self._of = loop, of

    def __iter__(self) -> Iterator[ItemT_co]:
        items: Any = aiter(self._of)
        try:
            while (item := self._loop.run(_next(items))) is not _END:
                yield faced(self._loop, item)
        finally:
            self._loop.run(items.aclose())

    def page(self) -> list[Document]:
        """The documents, without waiting for further ones."""
        return self._loop.run(self._of.page())


async def _next(items: AsyncIterator[Any]) -> Any:
    return await anext(items, _END)


def faced(loop: Loop, value: Any) -> Any:
    """The synchronous face of a value, if it has one."""
    if isinstance(value, Listing):
        return BlockingListing(loop, value)
    face = _FACES.get(type(value))
    return value if face is None else face(loop, value)


def blocking(of: type, name: str) -> type[Face]:
    """Makes the synchronous face of a class: each public method and property of it."""
    members = {each: _member(member) for each, member in public(of)}
    if hasattr(of, "__aenter__"):
        members |= {"__enter__": _enter, "__exit__": _exit}
    face = type(name, (Face,), {"__doc__": of.__doc__, "__module__": __name__, **members})
    _FACES[of] = face
    return face


def public(of: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class and its bases, as they stand."""
    seen = set[str]()
    for owner in reversed(of.__mro__[:-1]):
        for name, member in vars(owner).items():
            is_member = inspect.isfunction(member) or isinstance(member, property)
            if is_member and not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, getattr(of, name)


def annotation(text: Any) -> Any:
    """The annotation of the synchronous face for an annotation of the asynchronous class."""
    return _ASYNCHRONOUS.sub("Blocking", text) if isinstance(text, str) else text


def _member(member: Any) -> Any:
    if isinstance(member, property):
        read = member.fget
        return property(lambda self: read(self._of), doc=member.__doc__)  # type: ignore[misc]
    made = _awaited(member) if inspect.iscoroutinefunction(member) else _called(member)
    signature = inspect.signature(member)
    returned = annotation(signature.return_annotation)
    made.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
    made.__annotations__ = {**member.__annotations__, "return": returned}
    return made


def _enter(self: Face) -> Face:
    self._loop.run(self._of.__aenter__())
    return self


def _exit(self: Face, *exc: object) -> None:
    self._loop.run(self._of.__aexit__(*exc))


def _awaited(method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    @wraps(method)
    def run(self: Face, *args: Any, **options: Any) -> Any:
        return faced(self._loop, self._loop.run(method(self._of, *args, **options)))

    return run


def _called(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Face, *args: Any, **options: Any) -> Any:
        return faced(self._loop, method(self._of, *args, **options))

    return call
