"""Inputs and outputs of executions, as JSON text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....composer import asl
from ...aws import AwsError
from .inputs import MAX_DATA

if TYPE_CHECKING:
    from ....composer import JSON


def execution_input(text: str | None) -> JSON:
    """The input of a new execution; an empty object if there is none.

    Raises:
        AwsError: InvalidExecutionInput: the text is not JSON.
    """
    return {} if text is None else _parsed(text, "InvalidExecutionInput", _INPUT)


def task_output(text: str) -> JSON:
    """The output that answers a task.

    Raises:
        AwsError: InvalidOutput: the text is not JSON.
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
