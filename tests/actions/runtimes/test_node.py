"""Actions in JavaScript, in a real Node.js: OpenWhisk's rules for its runtime, and its texts."""

from __future__ import annotations

import zipfile

import pytest

from tests.kit.actions.things import Answers, StandingClock, ended, invocation, needed, node, until
from tests.kit.actions.wheels import tarred, zipped
from tests.kit.actions.workers import logged, run
from xingqiao.actions.runtimes import (
    Bounds,
    Sandbox,
    WorkerPool,
    WorkerSettings,
    find_languages,
    find_sandbox,
)
from xingqiao.composer import Again, Failure, Success

NO_DICT = "The action did not return a dictionary or array."
EXITED = "The action did not produce a valid response and exited unexpectedly."


@pytest.fixture(autouse=True)
def _needs_node():
    needed("node")


@pytest.fixture
async def pool(tmp_path):
    settings = WorkerSettings(directory=tmp_path, result_bytes=10_000)
    async with WorkerPool(Sandbox(), StandingClock(), settings, Bounds(size=3)) as made:
        yield made


async def outcome(pool, code, params=None, **fields):
    return (await run(pool, node(code, **fields), params)).outcome


# --- what code may look like -------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "function main(p) { return { n: p.n + 1 } }",
        "const main = p => ({ n: p.n + 1 })",
        "async function main({ n }) { return { n: n + 1 } }",
        "exports.main = p => Promise.resolve({ n: p.n + 1 })",
        "module.exports.main = p => ({ n: p.n + 1 })",
        "module.exports = { main: p => ({ n: p.n + 1 }) }",
        "const os = require('os'); function main(p) { return { n: p.n + os.EOL.length } }",
        "main = function (p) { return { n: p.n + 1 } }",
    ],
)
async def test_a_function_main_is_found(pool, code):
    assert await outcome(pool, code, {"n": 1}) == Success({"n": 2})


async def test_main_may_have_another_name(pool):
    action = node("exports.start = () => ({ a: 1 })")
    document = {"kind": "nodejs:20", "code": action.exec.text, "main": "start"}

    assert (await run(pool, node(exec=document))).outcome == Success({"a": 1})


@pytest.mark.parametrize(
    ("code", "main", "why"),
    [
        ("function other() {}", "main", "Action entrypoint 'main' is not a function."),
        ("syntax error (", "main", "SyntaxError: "),
        ("throw new Error('early')", "main", "Error: early"),
        ("function main() {}", "a-b", "'a-b' is no name of a function"),
    ],
)
async def test_code_that_cannot_be_taken_in_is_a_developers_error(pool, code, main, why):
    document = {"kind": "nodejs:20", "code": code, "main": main}
    found = (await run(pool, node(exec=document))).outcome

    assert found.code == "Crashed"
    assert found.error.startswith("Initialization has failed due to: ")
    assert why in found.error


# --- what may come of it -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("() => {}", Success({})),
        ("() => [1, 2]", Success([1, 2])),
        # JavaScript has doubles only: it spells this one 1180591620717411300000
        ("() => ({ n: 2 ** 70, m: 1e400 })", Success({"n": 2.0**70, "m": None})),
        ("() => ({ error: 'mine', more: 1 })", Failure("ApplicationError", "mine")),
        ("() => Promise.reject({ code: 7 })", Failure("ApplicationError", {"code": 7})),
        ("() => Promise.reject('text')", Failure("ApplicationError", "text")),
        ("() => Promise.reject()", Failure("ApplicationError", {})),
        ("() => { throw new TypeError('no') }",
         Failure("BadResponse", "An error has occurred: TypeError: no", ("TypeError", "Error"))),
        ("() => null", Failure("BadResponse", NO_DICT)),
        ("() => 5", Failure("BadResponse", NO_DICT)),
        ("async () => 'text'", Failure("BadResponse", NO_DICT)),
        ("() => { process.exit(0) }", Failure("Crashed", EXITED)),
        ("() => new Promise(() => setTimeout(() => { throw new Error('late') }))",
         Failure("Crashed", EXITED)),
        ("() => { Promise.reject(new Error('lost')); return new Promise(() => {}) }",
         Failure("Crashed", EXITED)),
    ],
)  # fmt: skip
async def test_what_comes_of_it(pool, code, expected):
    assert await outcome(pool, f"exports.main = {code}") == expected


async def test_an_error_is_told_with_its_name_its_stack_and_its_own_fields(pool):
    code = "exports.main = async () => { const e = new RangeError('far'); e.by = 3; throw e }"

    error = (await outcome(pool, code)).error

    assert (error["name"], error["message"], error["by"]) == ("RangeError", "far", 3)
    assert "hello.js:1:" in error["stack"]
    assert "worker.js" not in error["stack"]


@pytest.mark.parametrize(
    ("made", "raised"),
    [
        ("new RangeError('far')", ("RangeError", "Error")),
        ("new (class Late extends TypeError {})('no')", ("TypeError", "Late", "Error")),
        ("Object.assign(new Error('no'), { name: 'AbortError' })", ("AbortError", "Error")),
        ("Object.assign(new Error('no'), { name: 7 })", ("Error",)),
        ("Object.defineProperty(new Error('no'), 'name', { get () { throw 1 } })", ()),
        ("'text'", ()),
    ],
)
async def test_an_error_tells_its_name_and_its_classes(pool, made, raised):
    found = await outcome(pool, f"exports.main = async () => {{ throw {made} }}")

    assert found.raised == raised


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("const a = {}; a.a = a; exports.main = () => a", "circular"),
        ("exports.main = () => ({ n: 10n })", "BigInt"),
    ],
)
async def test_what_is_no_json_is_a_bad_response(pool, code, why):
    found = await outcome(pool, code)

    assert found.code == "BadResponse"
    assert why in found.error


@pytest.mark.parametrize(("length", "fits"), [(9_992, True), (9_993, False)])
async def test_a_result_is_so_long_and_no_longer(pool, length, fits):
    found = await outcome(
        pool, f"exports.main = () => ({{ a: '{'x' * 0}'.padEnd({length}, 'x') }})"
    )

    assert isinstance(found, Success) == fits
    if not fits:
        assert found.code == "PayloadTooLarge"
        assert "exceeded the allowed length: 10001 > 10000 bytes" in found.error


@pytest.mark.parametrize("code", ["for (;;);", "return new Promise(() => {})"])
async def test_what_takes_too_long_is_ended(pool, code):
    found = await outcome(pool, f"function main() {{ {code} }}", limits={"timeout": 1500})

    assert found == Failure("Timeout", "The action exceeded its time limits of 1500 milliseconds.")
    assert await outcome(pool, "exports.main = () => ({ a: 1 })") == Success({"a": 1})


async def test_what_needs_too_much_memory_is_ended(pool):
    code = "function main() { const all = []; for (;;) all.push(new Array(1e6).fill(7)) }"

    found = await outcome(pool, code, limits={"memory": 128})

    assert found == Failure("Crashed", "The action exhausted its memory and was aborted.")


# --- what it prints, and what it is told -------------------------------------------------------


async def test_what_it_prints_is_its_log_line_by_line(pool):
    code = (
        "function main() { console.log('one\\ntwo', { a: 1 }); console.error('three');"
        "process.stdout.write('fo'); process.stdout.write('ur\\nend'); return {} }"
    )

    completion = await run(pool, node(code))

    assert logged(completion) == [
        ("stdout", "one"), ("stdout", "two { a: 1 }"), ("stderr", "three"), ("stdout", "four"),
        ("stdout", "end"),
    ]  # fmt: skip


async def test_what_was_printed_before_a_crash_is_there(pool):
    completion = await run(pool, node("function main() { console.log('last'); process.exit(1) }"))

    assert logged(completion) == [("stdout", "last")]


async def test_a_log_ends_at_its_limit(pool):
    code = (
        "function main() { for (let i = 0; i < 40; i++) console.log('x'.repeat(40000)); return {} }"
    )

    completion = await run(pool, node(code, limits={"logs": 1}))

    assert isinstance(completion.outcome, Success)
    assert logged(completion)[-1][1] == (
        "Logs were truncated because the total bytes size exceeds the limit of 1048576 bytes."
    )
    assert sum(len(line) + 1 for line in completion.logs[:-1]) <= 1 << 20


async def test_an_action_is_told_who_it_is(tmp_path):
    settings = WorkerSettings(
        directory=tmp_path,
        environment={"__OW_API_HOST": "http://here"},
        action_key=lambda namespace, until_ms: f"{namespace}:{until_ms}",
    )
    code = (
        "exports.main = () => Object.fromEntries("
        "Object.entries(process.env).filter(([name]) => name.startsWith('__OW')))"
    )
    notes = [{"key": "provide-api-key", "value": True}]
    clock = StandingClock()
    async with WorkerPool(Sandbox(), clock, settings, Bounds(size=1)) as pool:
        asked = [
            invocation(node(code, annotations=given), transaction="tx", token="secret")
            for given in (notes, [])
        ]
        told = []
        for each in asked:
            answers = Answers()
            answers.invoke(pool, each)
            told.append((await answers.next()).outcome.value)

    assert told[0] == {
        "__OW_API_HOST": "http://here",
        "__OW_API_KEY": f"guest:{clock.now_ms() + 60_000}",
        "__OW_NAMESPACE": "guest",
        "__OW_ACTION_NAME": "/guest/hello",
        "__OW_ACTION_VERSION": "0.0.1",
        "__OW_ACTIVATION_ID": asked[0].activation,
        "__OW_IDEMPOTENCY_KEY": asked[0].activation,
        "__OW_TRANSACTION_ID": "tx",
        "__OW_DEADLINE": str(clock.now_ms() + 60_000),
        "__OW_COMPLETION_TOKEN": "secret",
    }
    assert "__OW_API_KEY" not in told[1]


async def test_an_attempt_is_told_its_number_and_the_next_run_is_not(pool):
    code = "exports.main = () => ({ n: process.env.__OW_ATTEMPT, last: process.env.__OW_LAST_FAILURE })"
    found = []
    for again in (None, Again(2, Failure("E", "e")), Again(1, None), None):
        answers = Answers()
        answers.invoke(pool, invocation(node(code), again=again))
        found.append((await answers.next()).outcome.value)

    assert found == [{}, {"n": "2", "last": '{"code": "E", "error": "e"}'}, {"n": "1"}, {}]


# --- archives ----------------------------------------------------------------------------------

FILES = {
    "package.json": '{"main": "lib/start.js"}',
    "lib/start.js": "exports.main = p => ({ n: require('./add')(p.n, require('dep')) })",
    "lib/add.js": "module.exports = (a, b) => a + b",
    "node_modules/dep/index.js": "module.exports = 40",
}


@pytest.mark.parametrize(
    "code", [zipped(FILES), zipped(FILES, zipfile.ZIP_STORED), tarred(FILES)],
    ids=["deflated", "stored", "tar.gz"],
)  # fmt: skip
async def test_an_archive_is_unpacked_and_its_main_file_found(pool, code):
    action = node(code)

    assert action.exec.binary
    assert (await run(pool, action, {"n": 2})).outcome == Success({"n": 42})


async def test_an_archive_may_be_a_module_of_the_newer_kind(pool):
    files = {
        "package.json": '{"type": "module"}',
        "index.js": "export const main = () => ({ a: 1 })",
    }

    assert await outcome(pool, zipped(files)) == Success({"a": 1})


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (zipped({"other.js": ""}), "must contain either package.json or index.js"),
        (zipped({"../out.js": ""}), "lies outside it"),
        (zipped({"/tmp/out.js": ""}), "lies outside it"),
        (tarred({"../out.js": ""}), "lies outside it"),
        (zipped({"index.js": ""}, zipfile.ZIP_BZIP2), "packed by a method that is not known"),
        (zipped({"index.js": "exports.other = 1"}), "is not a function"),
    ],
)
async def test_an_archive_that_cannot_be_used_is_refused(pool, code, why):
    found = await outcome(pool, code)

    assert found.code == "Crashed"
    assert why in found.error


# --- inline functions, by Composer's rules -----------------------------------------------------


async def inlined(pool, code, params=None, variables=None):
    tree = {"type": "let", "declarations": variables or {}, "components": [
        {"type": "function", "function": {"exec": {"kind": "nodejs:default", "code": code}}}]}  # fmt: skip
    action = node(exec={"kind": "composition", "composition": tree})
    (function,) = action.program.functions
    return await run(pool, action, params, function=function, variables=variables or {})


@pytest.mark.parametrize(
    ("code", "value", "variables"),
    [
        ("p => ({ n: p.n + k })", {"n": 3}, {"k": 2}),
        ("({ n }) => { k = k + n }", {"n": 1}, {"k": 3}),
        ("p => { p.n = 9 }", {"n": 9}, {"k": 2}),
        ("async p => { await null; k = 5; return 7 }", 7, {"k": 5}),
        ("function (p) { return typeof require('os').EOL }", "string", {"k": 2}),
        ("40 + k", 42, {"k": 2}),
    ],
)
async def test_a_function_sees_and_sets_variables(pool, code, value, variables):
    completion = await inlined(pool, code, {"n": 1}, {"k": 2})

    assert (completion.outcome, completion.variables) == (Success(value), variables)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("() => { k = 3; throw new Error('no') }", "Function combinator threw an exception"),
        ("p => p2", "Function combinator threw an exception"),
        ("() => () => 1", "Function combinator evaluated to a function type"),
        ("(", "Function combinator threw an exception"),
    ],
)
async def test_a_function_that_fails_says_so(pool, code, error):
    completion = await inlined(pool, code, {}, {"k": 2})

    assert completion.outcome.code == "ApplicationError"
    assert completion.outcome.error.startswith(error)
    if "throw" in code:
        assert completion.variables == {"k": 3}
        assert any("Error: no" in line for line in completion.logs)


# --- workers -----------------------------------------------------------------------------------


async def test_a_worker_is_started_ahead_for_what_comes_next(tmp_path):
    settings = WorkerSettings(directory=tmp_path)
    bounds = Bounds(size=2, prewarmed=1)
    pid = "exports.main = () => ({ pid: process.pid })"
    async with WorkerPool(Sandbox(), StandingClock(), settings, bounds) as pool:
        first = await outcome(pool, pid)
        await until(lambda: pool.size == 2)
        second = await outcome(pool, pid + " // other")
        await outcome(pool, pid + " // a third has no room but one that is idle")

        assert first.value["pid"] != second.value["pid"]
        assert pool.size == 2


async def test_all_places_may_be_taken_by_what_was_started_ahead(tmp_path):
    """Then that is what runs the code: nothing is ended to make room for it."""
    settings = WorkerSettings(directory=tmp_path)
    pid = "exports.main = () => ({ pid: process.pid })"
    async with WorkerPool(
        Sandbox(), StandingClock(), settings, Bounds(size=2, prewarmed=1)
    ) as pool:
        first = await outcome(pool, pid)
        await until(lambda: pool.size == 2)
        second = await outcome(pool, pid + " // other")

        assert pool.size == 2
        assert (await outcome(pool, pid)).value == first.value
        assert (await outcome(pool, pid + " // other")).value == second.value


async def test_a_worker_dies_with_the_pool(tmp_path):
    settings = WorkerSettings(directory=tmp_path)
    async with WorkerPool(Sandbox(), StandingClock(), settings) as pool:
        found = await outcome(pool, "exports.main = () => ({ pid: process.pid })")
    await until(lambda: ended(found.value["pid"]))


async def test_it_runs_in_bubblewrap_too(tmp_path):
    needed("bwrap")
    sandbox = find_sandbox("auto", [tmp_path / "hidden"])
    if sandbox.bubblewrap is None:
        pytest.skip("bubblewrap may not make namespaces here")
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "secret").write_text("s")
    code = (
        "const fs = require('fs'); exports.main = p => "
        "({ seen: fs.existsSync(p.file), home: fs.readdirSync('.').length })"
    )
    async with WorkerPool(sandbox, StandingClock(), WorkerSettings()) as pool:
        found = await outcome(pool, code, {"file": str(tmp_path / "hidden" / "secret")})

    assert found == Success({"seen": False, "home": 0})


def test_a_node_that_is_too_old_is_none(tmp_path, monkeypatch):
    old = tmp_path / "node"
    for told, kinds in (("v16.1.0", {"python:3"}), ("v18.0.0", {"python:3", "nodejs:20"})):
        old.write_text(f"#!/bin/sh\necho {told}\n")
        old.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert set(find_languages()) == kinds
