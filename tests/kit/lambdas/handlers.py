"""Functions of many kinds: their handlers, packed, and what they answer."""

from __future__ import annotations

import io
import json
import zipfile

from tests.kit.lambdas.clients import PYTHON

NODE = "nodejs20.x"
HANDLER = """
import decimal, json, os, sys

def handler(event, context):
    print("asked", json.dumps(event, sort_keys=True))
    return event

def fails(event, context):
    raise KeyError(event["what"])

class Odd(Exception):
    def __str__(self):
        return "odd " + self.args[0]

def odd(event, context):
    return deeper(event)

def deeper(event):
    raise Odd("one")

def about(event, context):
    assert 0 < context.get_remaining_time_in_millis() <= 3000
    return {
        "name": context.function_name, "version": context.function_version, "arn": context.invoked_function_arn,
        "memory": context.memory_limit_in_mb, "request": context.aws_request_id, "group": context.log_group_name,
        "variable": os.environ.get("COLOUR"), "region": os.environ["AWS_REGION"], "argv": context.client_context,
        "handler": os.environ["_HANDLER"], "root": os.environ["LAMBDA_TASK_ROOT"] == os.getcwd(),
    }

def unwritable(event, context):
    return {1, 2}

RESULTS = {
    "text": b'"HelloWorld!"', "object": b'{"a": [1]}', "plain": "caf\u00e9".encode(), "empty": b"", "nan": b"NaN",
    "inner": [b"caf\\xc3\\xa9", {"a": (b"1",)}], "key": {b"k": {1: {b"j": b"x"}}},
    "decimals": [decimal.Decimal("1.10"), decimal.Decimal(5)],
    "bad": b"\\xff", "inner bad": [b"\\xff"], "bytearray": bytearray(b"a"), "no number": decimal.Decimal("NaN"),
}

def makes(event, context):
    return RESULTS[event]

def large(event, context):
    return b"a" * event

def exits(event, context):
    sys.exit(3)

def dies(event, context):
    os._exit(1)

def sleeps(event, context):
    import time
    time.sleep(60)
"""
SCRIPT = """
exports.handler = async (event, context) => { console.log('asked', JSON.stringify(event)); return event }
exports.nothing = async () => {}
exports.fails = async () => { throw new TypeError('bad') }
exports.rejects = () => Promise.reject('a text')
exports.throws = () => { throw new RangeError('at once') }
exports.calls = (event, context, callback) => setTimeout(() => callback(null, { called: event }), 1)
exports.refuses = (event, context, callback) => { callback(new Error('no')) }
exports.value = 5
exports.circle = async () => { const it = {}; it.it = it; return it }
exports.about = async (event, context) => ({
  name: context.functionName, arn: context.invokedFunctionArn, request: context.awsRequestId,
  memory: context.memoryLimitInMB, left: context.getRemainingTimeInMillis() > 0, variable: process.env.COLOUR
})
"""


def packed(**files):
    """An upload of several files: `inner__module_dot_py` is inner/module.py."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as bundle:
        for name, content in files.items():
            bundle.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return made.getvalue()


ARCHIVES = {
    PYTHON: packed(handler_dot_py=HANDLER, inner__module_dot_py="def handler(e, c):\n    return __file__\n"),
    NODE: packed(handler_dot_js=SCRIPT, other_dot_mjs="export const handler = async event => [event]\n"),
}  # fmt: skip


def answer(aws, name, event=None, **options):
    """What a function answers, and how it is called if that is an error."""
    got = aws.invoke(FunctionName=name, Payload=json.dumps(event).encode(), **options)
    return json.loads(got["Payload"].read()), got.get("FunctionError")
