"""What a checker of definitions asks, answered simply: enough for definitions that tests write.

`HOOKS` takes whatever begins with `$`, and does not end with `!`, for a path, knows the strings of intrinsic functions, refuses
JSONata that holds `!!` in the words after it, and knows the action `known` and a few services.
"""

from __future__ import annotations

import re

from xingqiao.composer.languages.asl import Hooks
from xingqiao.composer.languages.asl.resources import integration

CALL = re.compile(r"States\.\w+\((?:[^'\\]|'(?:[^'\\]|\\['{}\\])*')*\)", re.DOTALL)
SERVICES = {
    "lambda:invoke", "sns:publish", "sqs:sendMessage", "states:startExecution", "dynamodb:getItem",
}  # fmt: skip


def is_path(text):
    return text.startswith("$") and not text.endswith("!")


REFERENCE = re.compile(
    r"""\$\$?\w* (?: \.? \[ (?: -?\d+ | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" ) \]
    | \. [^.\[\]*?@,:()\s'"!]+ )*""",
    re.VERBOSE,
)


def is_reference(text):
    return REFERENCE.fullmatch(text) is not None


def is_intrinsic(text):
    return CALL.fullmatch(text) is not None


def jsonata_flaw(expression, fields):
    """`!! words` is refused in these words; `$states.x` is where `fields` does not have x."""
    if "!!" in expression:
        return "INVALID_JSONATA_EXPRESSION", expression.split("!!")[1].strip()
    for field in re.findall(r"\$states\.(\w+)", expression):
        if field not in fields:
            message = f"Field '$states.{field}' does not exist."
            return "UNSUPPORTED_JSONATA_EXPRESSION", message
    return None


def is_integration(resource):
    asked = integration(resource)
    return asked is not None and f"{asked.service}:{asked.operation}" in SERVICES


HOOKS = Hooks(is_path, is_reference, is_intrinsic, jsonata_flaw, "known".__eq__, is_integration)
