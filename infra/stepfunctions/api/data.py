"""What goes into executions and comes out of them, as JSON text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ....composer import asl
from ...aws import AwsError
from .inputs import MAX_DATA

if TYPE_CHECKING:
    from ....composer import JSON


def json_text(value: JSON) -> str:
    """JSON without spaces, as AWS gives what went in and came out."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def execution_input(text: str | None) -> JSON:
    """The input of an execution that begins; none is an empty object.

    Raises:
        AwsError: InvalidExecutionInput, when the text is no JSON.
    """
    return {} if text is None else _parsed(text, "InvalidExecutionInput", _INPUT)


def task_output(text: str) -> JSON:
    """The output that a task is answered with.

    Raises:
        AwsError: InvalidOutput, when the text is no JSON.
    """
    return _parsed(text, "InvalidOutput", _OUTPUT)


_INPUT = "Invalid State Machine Execution Input: '{}'"
_OUTPUT = "Invalid Output: '{}'"


def _parsed(text: str, code: str, words: str) -> JSON:
    if len(text.encode()) > MAX_DATA:
        raise AwsError(code, words.format(f"It has more than {MAX_DATA} bytes."))
    if not text.strip():
        raise AwsError(code, words.format("Invalid execution input."))
    try:
        return asl.read_json(text)
    except asl.TextError as error:
        why = error.message.partition("\n")[0]
    except asl.DepthError as error:
        why = str(error)
    raise AwsError(code, words.format(why))
