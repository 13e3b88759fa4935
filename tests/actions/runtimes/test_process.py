"""A process at the other end of a socket: its lines, its output, and its death."""

from __future__ import annotations

import pytest

from tests.kit.actions.crashes import EXITED, NO_JSON
from tests.kit.actions.things import python
from tests.kit.actions.workers import logged, outcome, run
from xingqiao.composer import Success


@pytest.mark.parametrize("n", [2**64 - 1, -(2**63), 1e30])
async def test_a_number_that_fits_64_bits_or_is_a_float_comes_as_it_is(pool, n):
    found = await outcome(pool, f"def main(params): return {{'n': {n!r}}}")

    assert (found.value["n"], type(found.value["n"])) == (n, type(n))


@pytest.mark.parametrize("n", [2**64, -(2**63) - 1, 10**30])
async def test_a_result_with_a_wider_integer_is_refused_by_its_place(pool, n):
    found = await outcome(pool, f"def main(params): return {{'a': [{n}]}}")

    assert found.code == "BadResponse"
    assert "the integer at $.a[0] takes more than 64 bits" in found.error


async def test_many_brackets_are_not_many_levels(pool):
    code = "def main(params): return {'all': [[] for _ in range(1000)], 'text': '{[' * 1000}"

    found = await outcome(pool, code)

    assert found == Success({"all": [[]] * 1000, "text": "{[" * 1000})


async def test_what_children_print_becomes_lines_too(pool):
    code = (
        "import subprocess\n"
        "def main(params):\n"
        "    subprocess.run('echo out; echo err >&2; printf partial', shell=True)\n    return {}\n"
    )

    completion = await run(pool, python(code))

    assert sorted(logged(completion)) == [
        ("stderr", "err"), ("stdout", "out"), ("stdout", "partial"),
    ]  # fmt: skip


@pytest.mark.parametrize("write", ["print('x' * 200_000)", "os.write(1, b'x' * 200_000)"])
async def test_a_long_line_comes_in_pieces(pool, write):
    completion = await run(
        pool, python(f"import os\ndef main(params):\n    {write}\n    return {{}}\n")
    )

    pieces = [text for _, text in logged(completion)]
    assert "".join(pieces) == "x" * 200_000
    assert max(map(len, pieces)) <= 100_000


@pytest.mark.parametrize(
    "garbage",
    [
        "no json",
        "5",
        "[]",
        '"text"',
        "{}",
        "{{{",
        '{"value":5}',
        '{"value":{},"variables":5}',
        '{"value":' + "[" * 300 + "]" * 300 + "}",
        '{"log":5}',
        '{"output":5}',
        '{"ready":true}',
        '{"ready":false}',
        '{"failed":"x"}',
        '{"error":"x"}',
        '{"error":"x","code":[]}',
        '{"error":"x","code":"Nonsense"}',
        "\xff\xfe",
    ],
)
async def test_garbage_in_the_workers_name_is_a_bad_response(pool, garbage):
    code = (
        "import os, sys, threading\nfd = int(sys.argv[1])\n"
        f"def main(params):\n    os.write(fd, {(garbage + chr(10)).encode('latin-1')!r})\n"
        "    threading.Event().wait()\n"
    )

    found = await outcome(pool, code)

    assert found.code == "BadResponse"
    assert found.error.startswith(NO_JSON)
    assert len(found.error) < 1200


async def test_garbage_without_an_end_is_a_crash(pool):
    code = (
        "import os, sys\nfd = int(sys.argv[1])\n"
        "def main(params):\n    while True:\n        os.write(fd, b'x' * 100_000)\n"
    )

    assert await outcome(pool, code) == EXITED


@pytest.mark.parametrize("close", ["os.close(fd)", "os.closerange(0, 256)"])
async def test_an_action_that_closes_its_workers_files_is_a_crash(pool, close):
    code = (
        "import os, sys, threading\nfd = int(sys.argv[1])\n"
        f"def main(params):\n    {close}\n    return {{}}\n"
    )

    assert await outcome(pool, code) == EXITED
