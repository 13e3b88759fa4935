"""The program that runs user code, in a process of its own. It stands alone: standard library only.

    python -I -S worker.py FD TICKETS

It speaks over the socket that is its file descriptor FD: one JSON document a line. It is told first what
to run and within what limits, then each time what to run it on. For each of these lines, the server puts a
ticket, the number of the line in 4 bytes, into the pipe TICKETS beforehand. User code begins on a line
only if its ticket can be taken. So the server, which can read the pipe as well, knows which lines have not
been begun if this process dies, and can take such lines back.

    {"init": {"code": ... | "functions": ..., "memory_bytes": ..., "concurrency": ..., ...}}
        -> {"ready": true, "together": bool} | {"failed": text} | {"full": text}, when its files have no room
    {"id": number, "params": {...}, "function"?: hash, "variables"?: {...}, "env": {...}, "waits_ms"?: number}
        -> {"log": line} ...
        -> {"id": number, "us"?: number, "value": result, "variables"?: {...}}
         | {"id": number, "us"?: number, "error": text, "code": code, "raised"?: [class, base, ...], ...}

Several requests may be under way. They are answered one by one, in order, with the microseconds that each took. If `together` is true, the calls share an event loop, and all that
is sent about a call has its `id`. Then a call may be ended:

    {"cancel": number}
        -> {"id": number, "left": true}, when it has ended | {"id": number, "left": false}, if it goes on for now

What user code prints is sent line by line as it comes, so that a crash loses none of it. What is
imported late is not needed by every action, and a cold start is waited for.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LINE_CHARS = 32 << 10  # a longer line of output is sent in pieces
MAX_CLASSES, MAX_CLASS = 16, 100  # names of an exception's classes, and characters of each
HEAD_BYTES = 1024  # of a result that is too long, for the error
READ_BYTES = 1 << 18
TICKET_BYTES = 4
TRUNCATED = b"Logs were truncated because the total bytes size exceeds the limit of %d bytes."
END = 1 << 32  # no ticket: the server has ended
COROUTINE = 0x80  # the flag of the code of an `async def`
TOGETHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "together.py")


class Channel:
    """The socket to the server, line by line."""

    def __init__(self, fd: int, tickets: int) -> None:
        self.fd, self.tickets = fd, tickets
        self.ticket = 0  # that was taken last
        for each in (fd, tickets):  # a program that user code starts does not keep them open
            os.set_inheritable(each, False)
        self.lines: list[bytes] = []  # whole ones, the next one last
        self.pieces: list[bytes] = []  # of a line whose end has not come

    def read(self) -> bool:
        """Waits for the next bytes, and takes them. Returns False at the end of the connection."""
        data = os.read(self.fd, READ_BYTES)
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join((*self.pieces, lines[0]))
            self.pieces.clear()
            lines.reverse()
            self.lines[:0] = lines
        self.pieces.append(rest)
        return bool(data)

    def receive(self) -> Any:
        """The next document, or None at the end of the connection."""
        while not self.lines:
            if not self.read():
                return None
        return json.loads(self.lines.pop())

    def begin(self, number: int) -> bool:
        """Takes the ticket of a line. Returns False if the server has taken the line back."""
        while self.ticket < number:
            try:
                self.ticket = int.from_bytes(os.read(self.tickets, TICKET_BYTES), "little") or END
            except BlockingIOError:
                return False
        return self.ticket == number

    def send(self, document: Any) -> None:
        self.write(json.dumps(document).encode())

    def write(self, line: bytes) -> None:
        left = memoryview(line + b"\n")
        while left:
            left = left[os.write(self.fd, left) :]


class Call:
    """A call under way: the bytes of log that it may still write, below zero if it had more to write."""

    def __init__(self, logs_bytes: int, mark: dict[str, int]) -> None:
        self.limit = self.left = logs_bytes
        self.mark = mark  # its id, if others are under way
        self.partial = {"stdout": "", "stderr": ""}  # lines whose end has not been printed

    def another(self, id: int) -> Call:
        """A call with the same limit."""
        return Call(self.limit, {"id": id})


class Log(io.TextIOBase):
    """Stands for stdout or stderr: sends each line with its time and the stream's name."""

    def __init__(self, channel: Channel, stream: str, call: Call) -> None:
        self.channel, self.stream = channel, stream
        self.current: Any = lambda: call

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        call = self.current()
        *lines, partial = (call.partial[self.stream] + text).split("\n")
        if len(partial) > LINE_CHARS:
            lines.append(partial)
            partial = ""
        call.partial[self.stream] = partial
        for line in lines:
            if call.left < 0:
                break
            for start in range(0, len(line) or 1, LINE_CHARS):
                self.emit(call, line[start : start + LINE_CHARS])
        return len(text)

    def emit(self, call: Call, line: str) -> None:
        if call.left < 0:
            return
        seconds, nanos = divmod(time.time_ns(), 1_000_000_000)
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        start = f"{at}.{nanos:09}Z {self.stream}: "
        raw = line.encode("utf-8", "backslashreplace")
        call.left -= len(start) + len(raw) + 1
        if call.left < 0:
            raw = TRUNCATED % call.limit
        self.channel.send({"log": start + raw.decode(), **call.mark})

    def end(self, call: Call) -> None:
        """Sends what was printed without the end of its line."""
        if line := call.partial[self.stream]:
            call.partial[self.stream] = ""
            self.emit(call, line)


class NoResultError(Exception):
    """The returned value is not a result of an action."""


def confine(memory_bytes: int) -> None:
    """Limits the memory of this process and of each of its descendants."""
    try:
        import resource
    except ImportError:  # not on this platform
        return
    kind = getattr(resource, "RLIMIT_DATA", None)
    if kind is None:
        return
    _, hard = resource.getrlimit(kind)
    limit = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(kind, (limit, limit))


# --- loading code ------------------------------------------------------------------------------


def load(init: dict[str, Any]) -> dict[str | None, Any]:
    """Loads code. Returns the functions to call by the hash of an inline function; None is the action itself."""
    if init["packages"]:
        see(init["packages"], len(sys.path))
    if init["functions"]:
        return {
            name: define(f"function-{name[:8]}", function["code"], function["main"])
            for name, function in init["functions"].items()
        }
    if init["binary"]:
        return {None: unpack(init["code"], init["main"])}
    return {None: define(init["name"], init["code"], init["main"])}


class Source:
    """Lets tracebacks quote lines of code that is not in a file."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, _: str) -> str:
        return self.text


def define(name: str, source: str, main: str) -> Any:
    module = sys.modules["main__"] = types.ModuleType("main__")  # where a dataclass looks for names
    path = f"{name}.py"
    module.__dict__.update(__file__=path, __loader__=Source(source))
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102  this is what we are for
    return entry(module, main)


class NoRoomError(Exception):
    """The files of an action cannot be written; nothing of it has run."""


def unpack(code: str, main: str) -> Any:
    import base64
    import errno
    import zipfile

    with zipfile.ZipFile(io.BytesIO(base64.b64decode(code))) as archive:
        try:
            archive.extractall()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise NoRoomError(str(error)) from error
    if not os.path.isfile("__main__.py"):
        raise LookupError("the zip file has no __main__.py at its top level")
    sys.path.insert(0, os.getcwd())
    packages = virtualenv()
    if packages is not None:
        see(packages, 1)
    with open("__main__.py", encoding="utf-8") as file:
        source = file.read()
    module = sys.modules["main__"] = types.ModuleType("main__")
    module.__file__ = path = os.path.abspath("__main__.py")
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102  this is what we are for
    return entry(module, main)


def virtualenv() -> str | None:
    """The packages in an archive's `virtualenv`: those made for this Python, or else for another one.

    Packages that are all Python run in both. `activate_this.py`, which sets no more than the path, is not run.
    """
    folder = "virtualenv/lib"
    if not os.path.isdir(folder):
        return None
    ours = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    names = sorted(os.listdir(folder), key=lambda name: (name == ours, name), reverse=True)
    found = [os.path.abspath(f"{folder}/{name}/site-packages") for name in names]
    return next(filter(os.path.isdir, found), None)


def see(packages: str, at: int) -> None:
    """Adds a directory of packages to the path, with what its `.pth` files add."""
    import site

    sys.path.insert(at, packages)
    site.addsitedir(packages)


def entry(module: types.ModuleType, main: str) -> Any:
    function = getattr(module, main, None)
    if not callable(function):
        raise LookupError(f"{module.__file__} has no function {main!r}")
    return function


# --- running it --------------------------------------------------------------------------------


class Runner:
    """Calls user functions."""

    def __init__(self, functions: dict[str | None, Any]) -> None:
        self.functions = functions
        self.loop: Any = None
        self.untold: dict[str, None] = {}  # variables that only the last run was to be told

    def can_overlap(self) -> bool:
        """True if all functions are coroutine functions, so that several calls can share an event loop."""
        codes = [getattr(each, "__code__", None) for each in self.functions.values()]
        return all(code is not None and code.co_flags & COROUTINE for code in codes)

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.answer(request, self.settled(self.begin(request)))

    def begin(self, request: dict[str, Any]) -> Any:
        """Calls the function. Returns its result, or its coroutine."""
        if "waits_ms" in request:  # its time begins now
            request["env"]["__OW_DEADLINE"] = str(time.time_ns() // 1_000_000 + request["waits_ms"])
        for name, value in {**self.untold, **request["env"]}.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self.untold = request.get("untold", {})
        hash = request.get("function")
        function, given = self.functions[hash], [request["params"]]
        if hash is not None:
            code, given = function.__code__, [*given, request["variables"]]
            if not code.co_flags & 0x04:  # it does not take *args
                given = given[: code.co_argcount]
        return function(*given)

    def answer(self, request: dict[str, Any], result: Any) -> dict[str, Any]:
        """The fields of the answer with this result."""
        if "function" not in request:
            if not isinstance(result, (dict, list)):
                raise NoResultError("The action did not return a dictionary or array.")
            return {"value": result}
        answer = {"value": request["params"] if result is None else result}
        if request["variables"]:
            answer["variables"] = request["variables"]
        return answer

    def settled(self, result: Any) -> Any:
        """The value of a coroutine; any other value as it is."""
        if not isinstance(result, types.CoroutineType):
            return result
        if self.loop is None:
            import asyncio

            self.loop = asyncio.new_event_loop()
        return self.loop.run_until_complete(result)


def refusal(error: BaseException, request: dict[str, Any], limit: int) -> bytes:
    """The line that answers a request whose function has raised an error."""
    if isinstance(error, NoResultError):
        return failure(str(error), "BadResponse")
    if isinstance(error, MemoryError):
        return EXHAUSTED
    # As OpenWhisk's Python runtime has it: the traceback in the log, the text as the error.
    show(error)
    text = said(error) or type(error).__name__
    raw = text.encode()
    if len(raw) > limit:
        return too_long(raw, limit)
    return failure(text, "ApplicationError", request.get("variables"), classes(error))


def success(result: dict[str, Any], limit: int) -> bytes:
    """The line that answers a request with a result, if that can be written and is short enough."""
    try:
        fields = {name: encoded(value) for name, value in result.items()}
    except (TypeError, ValueError, RecursionError) as error:
        text = f"The action did not produce a valid JSON response: {said(error)}"
        return failure(text, "BadResponse")
    for raw in fields.values():
        if len(raw) > limit:
            return too_long(raw, limit)
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in fields.items())


def encoded(value: Any) -> bytes:
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def too_long(raw: bytes, limit: int) -> bytes:
    head = raw[:HEAD_BYTES].decode("utf-8", "replace")
    return failure(
        f"The action produced a response that exceeded the allowed length: {len(raw)} > "
        f"{limit} bytes. The truncated response was: {head}",
        "PayloadTooLarge",
    )


def failure(text: str, code: str, variables: Any = None, raised: list[str] | None = None) -> bytes:
    """The line of a failure, with what the function had set by then, if that can be written."""
    document: dict[str, Any] = {"error": text, "code": code}
    if raised:
        document["raised"] = raised
    if variables:
        try:
            return json.dumps({**document, "variables": variables}, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError):
            pass
    return json.dumps(document).encode()


EXHAUSTED = failure("The action exhausted its memory and was aborted.", "Crashed")


def classes(error: BaseException) -> list[str]:
    """The names of the error's class and of its bases, the most derived first."""
    names = [kind.__name__ for kind in type(error).__mro__ if kind not in (BaseException, object)]
    return [name[:MAX_CLASS] for name in names[:MAX_CLASSES]]


def said(error: BaseException) -> str:
    """The text of an error, if it has one that can be written."""
    try:
        return str(error).encode("utf-8", "backslashreplace").decode()
    except Exception:  # noqa: BLE001  it is the user's, too
        return ""


def show(error: BaseException) -> None:
    """Writes the traceback into the log, from where user code begins."""
    import traceback

    ours, trace = {show.__code__.co_filename, TOGETHER}, error.__traceback__
    if "asyncio" in sys.modules:
        ours.add(sys.modules["asyncio"].base_events.__file__)
    while trace is not None and trace.tb_frame.f_code.co_filename in ours:
        trace = trace.tb_next
    traceback.print_exception(error.with_traceback(trace))


def serve(channel: Channel, init: dict[str, Any], streams: tuple[Log, Log], call: Call) -> None:
    """Loads code, then answers requests until there are no more."""
    channel.begin(1)
    try:
        runner = Runner(load(init))
    except BaseException as error:  # noqa: BLE001  the user's SystemExit, too
        show(error)
        for stream in streams:
            stream.end(call)
        kind = "full" if isinstance(error, NoRoomError) else "failed"
        channel.send({kind: f"{type(error).__name__}: {said(error)[:LINE_CHARS]}"})
        return
    together = init["concurrency"] > 1 and runner.can_overlap()
    channel.send({"ready": True, "together": together})
    serving = serve_together if together else serve_one_by_one
    serving(channel, runner, streams, call, init["result_bytes"])


def serve_one_by_one(
    channel: Channel, runner: Runner, streams: tuple[Log, Log], call: Call, limit: int
) -> None:
    process = os.getpid()
    while (request := channel.receive()) is not None:
        if not channel.begin(request["id"]):
            continue
        call.left = call.limit
        sys.stdout, sys.stderr = streams
        began = time.perf_counter_ns()
        try:
            line = success(runner.run(request), limit)
        except Exception as error:  # noqa: BLE001  the boundary to user code
            line = refusal(error, request, limit)
        took_us = (time.perf_counter_ns() - began) // 1000
        if os.getpid() != process:
            return  # a fork of user code's has come back: the answer is its parent's to give
        for stream in streams:
            stream.end(call)
        channel.write(b'{"id":%d,"us":%d,%b' % (request["id"], took_us, line[1:]))
        if line is EXHAUSTED:
            return  # the server ends this process


def serve_together(
    channel: Channel, runner: Runner, streams: tuple[Log, Log], call: Call, limit: int
) -> None:
    """Answers requests whose calls share an event loop. Few actions need this code, or asyncio."""
    from importlib.machinery import SourceFileLoader

    names: dict[str, Any] = {}
    exec(SourceFileLoader("together", TOGETHER).get_code("together") or "", names)  # noqa: S102  it is ours
    names["Together"](channel, runner, streams, call, (success, refusal, limit)).serve()


def prepare() -> None:
    """Does slow preparations before the first request: the worker may have been started ahead."""
    try:  # noqa: SIM105  contextlib would have to be imported
        import resource  # noqa: F401
    except ImportError:
        pass
    import site

    site.setquit()  # without its sites, Python has neither exit() nor quit()
    exec(compile("def main(params): return params", "nothing.py", "exec"), {})  # noqa: S102
    json.loads(json.dumps({}))


def main() -> None:
    channel = Channel(int(sys.argv[1]), int(sys.argv[2]))
    prepare()
    init = channel.receive()["init"]
    call = Call(init["logs_bytes"], {})
    streams = Log(channel, "stdout", call), Log(channel, "stderr", call)
    sys.stdout, sys.stderr = streams
    confine(init["memory_bytes"])
    os.environ.update(init["env"])
    try:
        serve(channel, init, streams, call)
    except BaseException as error:  # noqa: BLE001  the user's, too
        if not isinstance(error, SystemExit):
            show(error)
        for stream in streams:
            stream.end(stream.current())
    finally:
        os._exit(1)  # user code may have left threads


if __name__ == "__main__":
    main()
