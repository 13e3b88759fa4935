"""Around an action: what it is given, and what its end is to the conductor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.deploy.wrapped import APPLICATION, BAD, LARGE, MESSAGE, run
from xingqiao.infra.deploy import hosted
from xingqiao.infra.deploy.hosted import crashed
from xingqiao.infra.deploy.hosted.aws import message_of
from xingqiao.infra.deploy.hosted.wrapper import is_late

DATACLASS = """
import dataclasses
@dataclasses.dataclass
class D:
    n: int
def main(p):
    return vars(D(p["n"]))
"""


def test_the_answer_brings_back_what_the_message_has_brought():
    answer = run("def main(params):\n    return {'n': params['n'] * 2}\n")

    assert answer == {
        "is": "completed",
        "token": MESSAGE["token"],
        "carried": MESSAGE["carried"],
        "outcome": {"value": {"n": 2}},
    }


def test_the_environment_says_what_openwhisks_does(monkeypatch):
    for name in ("ACTION_NAME", "ACTIVATION_ID", "IDEMPOTENCY_KEY", "DEADLINE", "TRANSACTION_ID"):
        monkeypatch.setenv(f"__OW_{name}", "")
    code = "import os\ndef main(p):\n    return {k: v for k, v in os.environ.items() if k[:5] == '__OW_'}\n"

    seen = run(code)["outcome"]["value"]

    assert seen["__OW_IDEMPOTENCY_KEY"] == "k"
    assert seen["__OW_ACTIVATION_ID"] == "a" * 32
    assert seen["__OW_TRANSACTION_ID"] == "e" * 32
    assert (seen["__OW_ACTION_NAME"], seen["__OW_DEADLINE"]) == ("/_/double", "1700000000000")


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("def main(p):\n    return [1]", {"value": [1]}),
        ("async def main(p):\n    return p", {"value": {"n": 1}}),
        ("def main(p):\n    return {'error': {'code': 'X'}}", {"code": APPLICATION, "error": {"code": "X"}}),
        ("def main(p):\n    raise ValueError('why')",
         {"code": APPLICATION, "error": "why", "raised": ["ValueError", "Exception"]}),
        ("def main(p):\n    raise ValueError",
         {"code": APPLICATION, "error": "ValueError", "raised": ["ValueError", "Exception"]}),
        ("class E(Exception):\n    def __str__(self): return 1\ndef main(p):\n    raise E()",
         {"code": APPLICATION, "error": "E", "raised": ["E", "Exception"]}),
        ("def main(p):\n    return 1", {"code": BAD, "error": "The action did not return a dictionary or array."}),
        (DATACLASS, {"value": {"n": 1}}),
    ],
)  # fmt: skip
def test_what_comes_of_it_is_what_a_worker_says(code, outcome):
    assert run(code)["outcome"] == outcome


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        ("def main(p):\n    return {'n': float('nan')}", BAD, "valid JSON response"),
        ("def main(p):\n    return {'n': {1, 2}}", BAD, "valid JSON response"),
        ("def main(p):\n    return {'n': 'x' * 200_000}", LARGE, "exceeded the allowed length"),
        ("def other(p):\n    pass", BAD, "LookupError: double.py has no function 'main'"),
        ("def main(p)", BAD, "SyntaxError"),
    ],
)
def test_what_is_no_result_says_why(code, kind, says):
    outcome = run(code)["outcome"]

    assert outcome["code"] == kind
    assert says in outcome["error"]


def test_an_action_starts_cold_without_the_conductor():
    program = (
        "import sys, types; package = types.ModuleType('hosted'); "
        f"package.__path__ = [{str(Path(hosted.__file__).parent)!r}]; sys.modules['hosted'] = package; "
        "import hosted.wrapper; print(any('composer' in name for name in sys.modules))"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"


# --- messages that come late ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "now_ms", "late"),
    [
        ({**MESSAGE, "until": 1_000}, 1_000, False),
        ({**MESSAGE, "until": 1_000}, 1_001, True),
        (MESSAGE, 1_001, False),  # of a conductor that did not say
    ],
)
def test_a_message_is_late_once_the_conductor_has_given_up(message, now_ms, late):
    assert is_late(message, now_ms) is late


# --- functions that do not answer ----------------------------------------------------------------


def told(text, kind="RetriesExhausted", count=1):
    return {
        "version": "1.0",
        "requestContext": {"condition": kind, "approximateInvokeCount": count},
        "requestPayload": MESSAGE,
        **({"responsePayload": {"errorMessage": text, "errorType": "Runtime.ExitError"}} if text else {}),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (told("RequestId: 1 Error: Runtime exited with error: exit status 1"), "Crashed"),
        (told("2026-11-20T10:00:00Z 1 Task timed out after 3.00 seconds"), "Timeout"),
        (told(None, "EventAgeExceeded"), "Crashed"),
        (told(None, "EventAgeExceeded", count=0), "Throttled"),
    ],
)
def test_what_lambda_says_of_a_function_that_died_is_its_steps_failure(record, code):
    answer = message_of(record)

    assert answer["token"] == MESSAGE["token"]
    assert answer["carried"] == MESSAGE["carried"]
    assert answer["outcome"]["code"] == answer["outcome"]["error"]["code"] == code


def test_any_other_message_is_itself():
    assert message_of({"is": "again", "execution": "e"}) == {"is": "again", "execution": "e"}
    assert crashed(MESSAGE, timed_out=False, error="x")["outcome"]["error"]["message"] == "x"
