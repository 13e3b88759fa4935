"""What user code may do to its worker, with real ones: it gets an answer, and harms nobody else."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import zipfile
from pathlib import Path

import anyio
import pytest

from tests.kit.actions.crashes import EXITED, NO_JSON
from tests.kit.actions.things import Answers, StandingClock, ended, invocation, python, until
from tests.kit.actions.workers import LIMIT, logged, outcome, run
from xingqiao.actions import status_of
from xingqiao.composer import Failure, Success

NEVER_BEGAN = Failure("Crashed", "The action did not initialize and exited unexpectedly.")


@pytest.fixture(autouse=True)
async def unharmed(pool):
    """Whatever a test has done to the pool, it runs the next action."""
    yield
    assert await outcome(pool, "def main(params):\n    return params\n", {"n": 1}) == Success(
        {"n": 1}
    )


# --- ways to end -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end",
    [
        "os._exit(0)",
        "os._exit(1)",
        "sys.exit()",
        "sys.exit('goodbye')",
        "exit = sys.exit; exit(0)",
        "raise SystemExit",
        "raise KeyboardInterrupt",
        "raise GeneratorExit",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os.kill(os.getpid(), signal.SIGSEGV)",
        "os.abort()",
        "os.closerange(3, 256); os._exit(0)",
        "threading.Thread(target=threading.Event().wait).start(); sys.exit()",
        "os.system('sleep 1000 &'); os._exit(0)",
        "os.execv('/bin/true', ['true'])",
    ],
)
async def test_an_action_that_ends_its_process_is_a_crash(pool, end):
    code = f"import os, signal, sys, threading\ndef main(params):\n    {end}\n"

    completion = await run(pool, python(code))

    assert completion.outcome == EXITED
    assert status_of(completion.outcome) == 2


async def test_what_was_printed_before_a_crash_is_not_lost(pool):
    code = (
        "import os, sys\n"
        "def main(params):\n"
        "    print('one')\n    print('two', file=sys.stderr)\n    os.write(1, b'three')\n"
        "    os._exit(1)\n"
    )

    completion = await run(pool, python(code))

    assert set(logged(completion)) == {("stdout", "one"), ("stderr", "two"), ("stdout", "three")}


async def test_the_last_words_of_an_exit_are_not_lost(pool):
    code = "import sys\ndef main(params):\n    print('no newline', end='')\n    sys.exit()\n"

    assert logged(await run(pool, python(code))) == [("stdout", "no newline")]


@pytest.mark.parametrize(
    "loop", ["while True: pass", "threading.Event().wait()", "signal.pause()", "input()"]
)
async def test_a_loop_without_end_is_stopped_in_time(pool, loop):
    code = (
        "import signal, sys, threading\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "def input(): return [].append(0) or signal.pause()\n"
        f"def main(params):\n    print('begun')\n    {loop}\n"
    )

    completion = await run(pool, python(code, limits={"timeout": 400}))

    assert completion.outcome == Failure(
        "Timeout", "The action exceeded its time limits of 400 milliseconds."
    )
    assert status_of(completion.outcome) == 2
    assert logged(completion) == [("stdout", "begun")]


async def test_a_worker_that_took_too_long_is_killed_with_all_it_has_started(pool, tmp_path):
    started = tmp_path / "pids"
    code = (
        "import os, subprocess, threading\n"
        "def main(params):\n"
        "    child = subprocess.Popen(['sleep', '1000'])\n"
        f"    open({str(started)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "    threading.Event().wait()\n"
    )

    assert (await outcome(pool, code, limits={"timeout": 500})).code == "Timeout"

    worker, child = map(int, started.read_text().split())
    await until(lambda: ended(worker) and ended(child))


# --- taking code in ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("def main(params)\n    return {}\n", "SyntaxError: expected ':' (hello.py, line 1)"),
        ("x = 1\n", "LookupError: hello.py has no function 'main'"),
        ("main = 1\n", "LookupError: hello.py has no function 'main'"),
        ("import nothing_like_this\n", "ModuleNotFoundError: No module named 'nothing_like_this'"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("raise ValueError('\\ud800')\n", "ValueError: \\ud800"),
        ("raise ValueError('x' * 10_000_000)\n", "ValueError: " + "x" * (32 << 10)),
    ],
)
async def test_code_that_cannot_be_taken_in_says_why(pool, code, text):
    completion = await run(pool, python(code))

    assert completion.outcome == Failure("Crashed", f"Initialization has failed due to: {text}")


async def test_a_syntax_error_is_shown_with_its_line_and_nothing_of_ours(pool):
    completion = await run(pool, python("import os\ndef main(params):\n    return {\n"))

    lines = [text for _, text in logged(completion)]
    assert lines[0] == '  File "hello.py", line 3'
    assert lines[-1] == "SyntaxError: '{' was never closed"


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.closerange(3, 256)"])
async def test_code_that_ends_the_process_while_it_is_taken_in_is_a_crash(pool, end):
    code = f"import os\n{end}\ndef main(params): return {{}}\n"

    assert await outcome(pool, code) == NEVER_BEGAN


async def test_code_that_never_ends_to_be_taken_in_is_stopped(pool):
    assert await outcome(pool, "while True: pass\n", limits={"timeout": 400}) == Failure(
        "Timeout", "The action exceeded its time limits of 400 milliseconds during initialization."
    )


async def test_a_main_of_another_name_is_called(pool):
    exec = {"kind": "python:3", "code": "def other(params): return {'other': 1}", "main": "other"}

    assert await outcome(pool, "", exec=exec) == Success({"other": 1})


async def test_code_may_refer_to_itself_and_keep_what_it_made(pool):
    code = "n = 0\ndef main(params):\n    global n\n    n += 1\n    return {'n': n}\n"
    action = python(code)

    assert [(await run(pool, action)).outcome.value["n"] for _ in range(3)] == [1, 2, 3]


# --- results -----------------------------------------------------------------------------------

NO_DICT = "The action did not return a dictionary or array."


@pytest.mark.parametrize(
    "result", ["None", "'text'", "1", "True", "(1, 2)", "{1}", "b''", "object()"]
)
async def test_a_result_that_is_no_object_or_array_is_a_bad_response(pool, result):
    found = await outcome(pool, f"def main(params): return {result}")

    assert found == Failure("BadResponse", NO_DICT)
    assert status_of(found) == 2


@pytest.mark.parametrize(
    "result",
    [
        "{'a': float('nan')}",
        "{'a': float('inf')}",
        "{'a': {1, 2}}",
        "{'a': object()}",
        "{'a': b'bytes'}",
        "{('a', 'b'): 1}",
        "{'a': '\\ud800'}",
        "[main]",
        "params.setdefault('me', params)",
    ],
)
async def test_a_result_that_is_no_json_is_a_bad_response(pool, result):
    found = await outcome(pool, f"def main(params): return {result}")

    assert found.code == "BadResponse"
    assert found.error.startswith(NO_JSON)


@pytest.mark.parametrize(
    ("levels", "fits"), [(200, True), (201, False), (400, False), (990, False)]
)
async def test_a_result_nests_so_deep_and_no_deeper(pool, levels, fits):
    code = (
        "def main(params):\n    value = 0\n"
        "    for _ in range(params['levels']):\n        value = [value]\n    return value\n"
    )

    found = await outcome(pool, code, {"levels": levels})

    assert isinstance(found, Success) is fits
    if not fits:
        assert found.code == "BadResponse"
        assert found.error.startswith(NO_JSON)


@pytest.mark.parametrize("letter", ["a", "é"])
async def test_a_result_is_so_long_and_no_longer(pool, letter):
    code = "def main(params): return {'t': params['letter'] * params['n']}"
    size = len(letter.encode())
    fits = (LIMIT - len('{"t":""}')) // size

    found = await outcome(pool, code, {"letter": letter, "n": fits})
    assert found == Success({"t": letter * fits})
    found = await outcome(pool, code, {"letter": letter, "n": fits + 1})

    assert found.code == "PayloadTooLarge"
    length = len(json.dumps({"t": letter * (fits + 1)}, ensure_ascii=False).encode()) - 1
    assert found.error.startswith(
        f"The action produced a response that exceeded the allowed length: {length} > {LIMIT} "
        'bytes. The truncated response was: {"t":"' + letter * 100
    )
    assert len(found.error) < 1300
    assert status_of(found) == 1


async def test_a_huge_result_is_refused(pool):
    found = await outcome(pool, "def main(params): return ['x' * 50_000_000]")

    assert found.code == "PayloadTooLarge"


@pytest.mark.parametrize("n", [LIMIT, LIMIT + 1])
async def test_an_error_is_so_long_and_no_longer(pool, n):
    found = await outcome(pool, "def main(params): raise ValueError('x' * params['n'])", {"n": n})

    if n <= LIMIT:
        assert found == Failure("ApplicationError", "x" * n, ("ValueError", "Exception"))
    else:
        assert found.code == "PayloadTooLarge"
        assert f"{n} > {LIMIT} bytes" in found.error


async def test_an_object_with_an_error_is_an_applications_failure(pool):
    found = await outcome(pool, "def main(params): return {'error': {'code': 7}}")

    assert found == Failure("ApplicationError", {"code": 7})
    assert status_of(found) == 1


# --- errors ------------------------------------------------------------------------------------


async def test_an_exception_is_an_applications_failure_with_its_traceback_in_the_log(pool):
    code = (
        "import json\n"
        "def inner(params):\n"
        "    return json.loads('{')\n"
        "def main(params):\n"
        "    return inner(params)\n"
    )

    completion = await run(pool, python(code))

    assert completion.outcome.code == "ApplicationError"
    assert completion.outcome.error.startswith("Expecting property name")
    lines = [text for stream, text in logged(completion) if stream == "stderr"]
    shown = [line for line in lines if line.strip("^~ ")]  # versions of Python mark differently
    assert shown[:4] == [
        "Traceback (most recent call last):",
        '  File "hello.py", line 5, in main',
        "    return inner(params)",
        '  File "hello.py", line 3, in inner',
    ]
    assert not any("worker.py" in line for line in lines)


async def test_the_traceback_of_a_coroutine_shows_nothing_of_ours_either(pool):
    code = "async def main(params):\n    raise ValueError('no')\n"

    completion = await run(pool, python(code))

    assert [text for _, text in logged(completion)] == [
        "Traceback (most recent call last):",
        '  File "hello.py", line 2, in main',
        "    raise ValueError('no')",
        "ValueError: no",
    ]


async def test_a_main_that_takes_something_else_is_an_applications_failure(pool):
    completion = await run(pool, python("def main():\n    return {}\n"))

    text = "main() takes 0 positional arguments but 1 was given"
    assert completion.outcome == Failure("ApplicationError", text, ("TypeError", "Exception"))
    assert [text for _, text in logged(completion)] == [f"TypeError: {text}"]


@pytest.mark.parametrize(
    ("error", "text"),
    [("ValueError", "ValueError"), ("ValueError('')", "ValueError"), ("KeyError('a')", "'a'")],
)
async def test_an_error_without_words_goes_by_its_kind(pool, error, text):
    found = await outcome(pool, f"def main(params): raise {error}")

    assert (found.code, found.error) == ("ApplicationError", text)


async def test_an_exception_names_its_class_and_its_bases(pool):
    found = await outcome(pool, "def main(params): open('/no/such/file')")

    assert found.raised == ("FileNotFoundError", "OSError", "Exception")
    assert found.named("OSError")
    assert found.named("ApplicationError")
    assert not found.named("ConnectionError")


@pytest.mark.parametrize(("kinds", "told"), [(14, 15), (15, 16), (16, 16)])
async def test_an_exception_names_so_many_classes_and_no_more(pool, kinds, told):
    code = """
def main(params):
    kind = Exception
    for n in range(params["n"]):
        kind = type(f"Kind{n}", (kind,), {})
    raise kind("no")
"""
    found = await outcome(pool, code, {"n": kinds})

    assert (len(found.raised), found.raised[0]) == (told, f"Kind{kinds - 1}")


@pytest.mark.parametrize(("length", "told"), [(99, 99), (100, 100), (101, 100)])
async def test_the_name_of_a_class_is_so_long_and_no_longer(pool, length, told):
    code = "def main(params): raise type('K' * params['n'], (Exception,), {})('no')"

    assert (await outcome(pool, code, {"n": length})).raised[0] == "K" * told


async def test_recursion_without_end_is_an_applications_failure(pool):
    found = await outcome(pool, "def main(params): return main(params)")

    assert found.code == "ApplicationError"
    assert "recursion" in found.error


# --- logs --------------------------------------------------------------------------------------


async def test_what_is_printed_becomes_lines_with_time_and_stream(pool):
    code = (
        "import sys\n"
        "def main(params):\n"
        "    print('one')\n    print('two\\nthree', file=sys.stderr)\n    print()\n"
        "    print('four', end='')\n    print('\\ud800')\n    print('five', end='')\n"
        "    return {}\n"
    )

    completion = await run(pool, python(code))

    assert logged(completion) == [
        ("stdout", "one"),
        ("stderr", "two"),
        ("stderr", "three"),
        ("stdout", ""),
        ("stdout", r"four\ud800"),
        ("stdout", "five"),
    ]


async def test_each_activation_has_its_own_lines(pool):
    action = python("def main(params):\n    print(params['n'], end='')\n    return {}\n")

    lines = [logged(await run(pool, action, {"n": n})) for n in range(3)]

    assert lines == [[("stdout", str(n))] for n in range(3)]


TRUNCATED = "Logs were truncated because the total bytes size exceeds the limit of 1048576 bytes."


@pytest.mark.parametrize(
    "flood",
    [
        "print('x' * 30_000_000)",
        "print('x' * 30_000_000, end='')",
        "print('\\n' * 5_000_000)",
        "[print('line', n) for n in range(50_000)]",
        "os.write(1, b'x' * 40_000_000)",
        "os.write(2, b'\\n' * 10_000_000)",
        "[os.write(fd, b'{\"log\":\"' + b'x' * 1000 + b': \"}\\n') for _ in range(20_000)]",
    ],
)
async def test_a_flood_of_output_is_cut_off_at_the_limit(pool, flood):
    code = (
        "import os, sys\nfd = int(sys.argv[1])\n"
        f"def main(params):\n    {flood}\n    return {{'done': True}}\n"
    )

    completion = await run(pool, python(code, limits={"logs": 1}))

    assert completion.outcome == Success({"done": True})
    assert completion.logs[-1].endswith(f": {TRUNCATED}")
    assert sum(len(line) + 1 for line in completion.logs[:-1]) <= 1 << 20
    assert len(completion.logs) < 30_000


async def test_without_room_for_logs_there_are_none(pool):
    completion = await run(
        pool, python("def main(params):\n    print(1)\n    return {}", limits={"logs": 0})
    )

    assert len(completion.logs) == 1
    assert "limit of 0 bytes" in completion.logs[0]


@pytest.mark.parametrize(
    "change",
    [
        "sys.stdout = None",
        "sys.stdout = sys.stderr = io.StringIO()",
        "sys.stdout.close()",
        "os.closerange(1, 3)",
        "del sys.stdout",
    ],
)
async def test_an_action_may_do_what_it_likes_to_its_streams(pool, change):
    action = python(f"import io, os, sys\ndef main(params):\n    {change}\n    return {{'n': 1}}\n")

    for _ in range(2):
        assert (await run(pool, action)).outcome == Success({"n": 1})


async def test_what_is_no_text_cannot_be_printed(pool):
    found = await outcome(pool, "import sys\ndef main(params): sys.stdout.write(b'x')")

    assert found == Failure(
        "ApplicationError", "write() argument must be str, not bytes", ("TypeError", "Exception")
    )


# --- bounds ------------------------------------------------------------------------------------


async def test_memory_is_limited(pool):
    code = "def main(params):\n    return [len(bytearray(params['mb'] << 20))]\n"
    action = python(code, limits={"memory": 128})

    assert (await run(pool, action, {"mb": 64})).outcome == Success([64 << 20])
    assert (await run(pool, action, {"mb": 256})).outcome == Failure(
        "Crashed", "The action exhausted its memory and was aborted."
    )
    assert (await run(pool, action, {"mb": 64})).outcome == Success([64 << 20])


async def test_memory_is_limited_while_code_is_taken_in(pool):
    found = await outcome(pool, "x = bytearray(1 << 30)\ndef main(params): return {}")

    assert found == Failure("Crashed", "Initialization has failed due to: MemoryError: ")


async def test_a_worker_has_the_limits_of_its_process_set(pool):
    code = (
        "import resource as r\n"
        "def main(params):\n"
        "    names = ('DATA', 'CORE', 'NOFILE', 'FSIZE')\n"
        "    return {n: r.getrlimit(getattr(r, 'RLIMIT_' + n)) for n in names}\n"
    )

    found = await outcome(pool, code, limits={"memory": 200})

    assert found == Success(
        {"DATA": [200 << 20] * 2, "CORE": [0, 0], "NOFILE": [1024] * 2, "FSIZE": [1 << 30] * 2}
    )


async def test_a_fork_that_comes_back_does_not_answer(pool):
    code = (
        "import os\n"
        "def main(params):\n"
        "    child = os.fork()\n"
        "    if child:\n        os.waitpid(child, 0)\n"
        "    return {'n': params['n'], 'child': not child}\n"
    )
    action = python(code)

    for n in range(5):
        assert (await run(pool, action, {"n": n})).outcome == Success({"n": n, "child": False})


async def test_a_thread_that_is_left_behind_does_not_answer(pool):
    code = (
        "import threading\n"
        "def main(params):\n"
        "    threading.Thread(target=threading.Event().wait).start()\n"
        "    return params\n"
    )
    action = python(code)

    for n in range(3):
        assert (await run(pool, action, {"n": n})).outcome == Success({"n": n})


async def test_what_is_left_behind_may_speak_when_nobody_has_asked(pool, tmp_path):
    for name in ("gate", "told"):
        os.mkfifo(tmp_path / name)
    code = (
        "import os, sys, threading\nfd = int(sys.argv[1])\n"
        "def speak(gate, told):\n"
        "    open(gate).read()\n"
        "    os.write(fd, b'{\"log\":\"stray\"}\\n')\n    os.write(1, b'stray\\n')\n"
        "    open(told, 'w').close()\n"
        "def main(params):\n"
        "    if 'gate' in params:\n"
        "        threading.Thread(target=speak, kwargs=params).start()\n"
        "    return {'n': 1}\n"
    )
    action = python(code)
    params = {name: str(tmp_path / name) for name in ("gate", "told")}
    assert (await run(pool, action, params)).outcome == Success({"n": 1})

    async with await anyio.open_file(tmp_path / "gate", "w"):
        pass
    async with await anyio.open_file(tmp_path / "told") as told:
        await told.read()

    assert (await run(pool, action)).outcome == Success({"n": 1})


# --- what it sees ------------------------------------------------------------------------------


async def test_a_worker_inherits_no_environment(pool, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    monkeypatch.setenv("TZ", "UTC")
    code = "import os\ndef main(params): return dict(os.environ)"

    found = (await run(pool, python(code), token="t")).outcome.value

    assert "hunter2" not in found.values()
    assert found["TZ"] == "UTC"
    assert {name for name in found if not name.startswith("__OW_")} <= {
        "PATH", "LANG", "LC_CTYPE", "HOME", "TMPDIR", "PYTHONDONTWRITEBYTECODE", "TZ",
    }  # fmt: skip


async def test_a_worker_inherits_no_file(pool, tmp_path):
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        code = (
            "import os\n"
            "def main(params):\n"
            "    return {n: os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')\n"
            "            if os.path.exists(f'/proc/self/fd/{n}')}\n"
        )
        found = await outcome(pool, code)

    assert not any("secret" in name for name in found.value.values())


async def test_an_action_is_told_who_it_is_and_what_it_runs_for(pool):
    code = "import os\ndef main(params): return {k: v for k, v in os.environ.items() if 'OW' in k}"
    action = python(code, version="1.2.3")

    asked = invocation(action, token="secret")
    answers = Answers()
    answers.invoke(pool, asked)

    assert (await answers.next()).outcome == Success(
        {
            "__OW_NAMESPACE": "guest",
            "__OW_ACTION_NAME": "/guest/hello",
            "__OW_ACTION_VERSION": "1.2.3",
            "__OW_ACTIVATION_ID": asked.activation,
            "__OW_IDEMPOTENCY_KEY": asked.activation,
            "__OW_TRANSACTION_ID": asked.transaction,
            "__OW_DEADLINE": str(StandingClock().now_ms() + 60_000),
            "__OW_COMPLETION_TOKEN": "secret",
        }
    )


async def test_actions_of_equal_code_have_their_own_names(pool):
    code = "import os\ndef main(params): return {'name': os.environ['__OW_ACTION_NAME']}"

    names = [(await outcome(pool, code, name=name)).value["name"] for name in ("one", "two")]

    assert names == ["/guest/one", "/guest/two"]


async def test_a_worker_has_a_directory_of_its_own(pool, tmp_path):
    code = (
        "import os, tempfile\n"
        "def main(params):\n"
        "    open('file', 'w').write('mine')\n"
        "    return [os.getcwd(), os.environ['HOME'], tempfile.gettempdir(), os.listdir()]\n"
    )

    found = (await outcome(pool, code)).value

    assert found[0] == found[1] == found[2]
    assert Path(found[0]).parent == tmp_path
    assert found[3] == ["file"]
    other = await outcome(pool, "import os\ndef main(params): return [os.getcwd(), os.listdir()]")
    assert other.value[0] != found[0]
    assert other.value[1] == []


# --- archives ----------------------------------------------------------------------------------


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return base64.b64encode(packed.getvalue()).decode()


MAIN = "import greeting\ndef main(params):\n    return {'text': greeting.text(params)}\n"
GREETING = "def text(params):\n    return 'hello ' + params['name']\n"
SITE = "virtualenv/lib/python{0[0]}.{0[1]}/site-packages/"


@pytest.mark.parametrize("folder", ["", SITE])
async def test_an_archive_brings_its_dependencies(pool, folder):
    place = folder.format(sys.version_info) + "greeting/__init__.py"
    code = zipped({"__main__.py": MAIN, place: GREETING})

    assert await outcome(pool, code, {"name": "you"}) == Success({"text": "hello you"})


async def test_an_archive_may_read_its_files(pool):
    main = "def main(params):\n    return {'text': open('data/text.txt').read()}\n"

    assert await outcome(pool, zipped({"__main__.py": main, "data/text.txt": "t"})) == Success(
        {"text": "t"}
    )


async def test_an_archive_cannot_write_outside_its_directory(pool, tmp_path):
    main = "def main(params): return {}\n"

    await outcome(pool, zipped({"__main__.py": main, "../escaped": "x", "/escaped": "x"}))

    assert not (tmp_path / "escaped").exists()
    assert not (tmp_path.parents[-1] / "escaped").exists()


async def test_an_archive_without_a_main_says_so(pool):
    text = "LookupError: the zip file has no __main__.py at its top level"

    assert await outcome(pool, zipped({"other.py": ""})) == Failure(
        "Crashed", f"Initialization has failed due to: {text}"
    )


async def test_an_archive_that_is_damaged_says_so(pool):
    damaged = base64.b64encode(b"PK\x03\x04" + b"x" * 100).decode()

    assert await outcome(pool, damaged) == Failure(
        "Crashed", "Initialization has failed due to: BadZipFile: File is not a zip file"
    )


# --- coroutines --------------------------------------------------------------------------------


async def test_a_coroutine_is_awaited(pool):
    code = (
        "import asyncio\n"
        "async def twice(n):\n    await asyncio.sleep(0)\n    return 2 * n\n"
        "async def main(params):\n"
        "    return list(await asyncio.gather(*map(twice, params['all'])))\n"
    )
    action = python(code)

    for _ in range(2):
        assert (await run(pool, action, {"all": [1, 2]})).outcome == Success([2, 4])


async def test_a_coroutine_that_returns_nothing_is_a_bad_response(pool):
    assert await outcome(pool, "async def main(params): pass") == Failure("BadResponse", NO_DICT)
