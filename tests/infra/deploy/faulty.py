"""A user's file: a composition whose steps are delivered twice, die and crash, each once.

Every action notes that it runs in the folder `notes`.
"""

from xingqiao import composer


@composer.action
def start(params):
    import pathlib

    with pathlib.Path(params["notes"], "calls").open("a") as calls:
        calls.write("start\n")
    return {**params, "started": True}


@composer.action
def twice(params):
    """Has the very event that it was invoked with delivered once more, as Lambda may."""
    import inspect
    import json
    import os
    import pathlib

    import boto3

    with pathlib.Path(params["notes"], "calls").open("a") as calls:
        calls.write(f"twice {os.environ['__OW_IDEMPOTENCY_KEY']}\n")
    again = pathlib.Path(params["notes"], "again")
    if not again.exists():
        again.touch()
        event = next(
            f.frame.f_locals["message"] for f in inspect.stack() if "message" in f.frame.f_locals
        )
        boto3.client("lambda").invoke(
            FunctionName=os.environ["AWS_LAMBDA_FUNCTION_NAME"],
            InvocationType="Event",
            Payload=json.dumps(event).encode(),
        )
    return {**params, "twice": True}


def die_once(params):
    """Ends the conductor's process, between two steps."""
    import os
    import pathlib

    died = pathlib.Path(params["notes"], "died")
    if not died.exists():
        died.touch()
        os._exit(1)
    return {**params, "died": True}


@composer.action
def left(params):
    import pathlib

    with pathlib.Path(params["notes"], "calls").open("a") as calls:
        calls.write("left\n")
    return {"left": True}


@composer.action
def right(params):
    import pathlib

    with pathlib.Path(params["notes"], "calls").open("a") as calls:
        calls.write("right\n")
    return {"error": {"code": "Wrong"}}


@composer.action
def crash(params):
    import os
    import pathlib

    with pathlib.Path(params["notes"], "calls").open("a") as calls:
        calls.write("crash\n")
    os._exit(1)


@composer.action
def finish(params):
    import pathlib

    with pathlib.Path(params["notes"], "calls").open("a") as calls:
        calls.write("finish\n")
    return params


faulty = composer.sequence(
    start,
    twice,
    die_once,
    composer.merge(composer.do(crash, composer.literal({"crashed": True}))),
    composer.merge(composer.parallel(left, right, errors="collect")),
    composer.wait(1),
    finish,
)
