"""Calls of a function are counted while they run."""

from __future__ import annotations

import threading

import httpx
import pytest

from tests.kit.lambdas.clients import answered, archive, create, refused
from xingqiao.infra.aws import AwsError
from xingqiao.infra.lambdas.calls_under_way import CallsUnderWay


def test_a_function_without_concurrency_is_not_called(aws, name):
    aws.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)

    for kind in ("RequestResponse", "Event"):
        with pytest.raises(aws.exceptions.TooManyRequestsException) as refusal:
            aws.invoke(FunctionName=name, InvocationType=kind)
        response = refusal.value.response
        assert response["Reason"] == "ReservedFunctionConcurrentInvocationLimitExceeded"
        assert response["retryAfterSeconds"] == "1"
    aws.add_permission(
        FunctionName=name, StatementId="u", Action="lambda:InvokeFunctionUrl", Principal="*"
    )
    url = aws.create_function_url_config(FunctionName=name, AuthType="NONE")["FunctionUrl"]
    assert httpx.get(url).status_code == 429
    aws.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=1)
    assert answered(aws, name) == ("first", "$LATEST")
    assert httpx.get(url).text == "first"


def test_as_many_calls_run_at_the_same_time_as_are_reserved():
    calls = CallsUnderWay()

    with calls.counted("a", 2), calls.counted("a", 2), calls.counted("b", 1):
        with pytest.raises(AwsError, match="Rate Exceeded"), calls.counted("a", 2):
            pass
        with calls.counted("a", None):
            pass
    with calls.counted("a", 1):
        pass


def test_a_call_that_fails_is_counted_no_longer():
    calls = CallsUnderWay()

    with pytest.raises(KeyError), calls.counted("a", 1):
        raise KeyError
    with calls.counted("a", 1):
        pass


def test_two_calls_at_once_are_one_too_many(aws, fresh, tmp_path):
    name, ready, go = fresh(), tmp_path / "ready", tmp_path / "go"
    waits = f"""
import os, time
def handler(event, context):
    open({str(ready)!r}, "w").close()
    while not os.path.exists({str(go)!r}):
        time.sleep(0.01)
    return "done"
"""
    create(aws, name, archive(waits), Timeout=60)
    aws.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=1)
    found = []
    first = threading.Thread(target=lambda: found.append(answered(aws, name)))
    first.start()
    while not ready.exists():
        pass  # the first call starts
    assert refused(aws.invoke, FunctionName=name)[:2] == ("TooManyRequestsException", 429)
    go.touch()
    first.join()

    assert found == [("done", "$LATEST")]
    assert answered(aws, name) == ("done", "$LATEST")
