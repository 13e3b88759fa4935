"""The documents that a worker is sent: what a later attempt is told."""

from __future__ import annotations

import json

from tests.kit.actions.things import Answers, invocation, python
from xingqiao.composer import Again, Failure


async def test_an_attempt_is_told_its_number_and_the_failure_before_and_the_next_run_is_not(pool):
    code = "import os\ndef main(params): return {k[5:]: v for k, v in os.environ.items() if k in told}\n"
    code = "told = ('__OW_ATTEMPT', '__OW_LAST_FAILURE')\n" + code
    down = Failure("Timeout", {"code": "Timeout"})
    found = []
    for again in (
        None,
        Again(2, down),
        Again(1, None, "details"),
        Again(3, Failure("E", "x" * 9000)),
        None,
    ):
        answers = Answers()
        answers.invoke(pool, invocation(python(code), again=again))
        found.append((await answers.next()).outcome.value)

    assert found[0] == found[4] == {}
    assert found[1] == {
        "ATTEMPT": "2", "LAST_FAILURE": '{"code": "Timeout", "error": {"code": "Timeout"}}'
    }  # fmt: skip
    assert found[2] == {"ATTEMPT": "1"}
    assert found[3]["LAST_FAILURE"] == json.dumps({"code": "E", "error": "E: " + "x" * 997})
