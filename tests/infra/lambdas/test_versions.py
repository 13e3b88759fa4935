"""Versions of functions, with AWS' own client, against a server that runs."""

from __future__ import annotations

import base64
import json
import signal

from tests.kit.infra.servers import AUTH, running
from tests.kit.lambdas.clients import (
    ARN,
    answered,
    archive,
    client_of,
    create,
    refused,
    returning,
)
from xingqiao.actions.runtimes import packed


def test_a_version_keeps_its_code_and_its_settings(aws, name):
    one = aws.publish_version(FunctionName=name, Description="the first")
    aws.update_function_code(FunctionName=name, ZipFile=returning("second"))
    aws.update_function_configuration(FunctionName=name, Timeout=7, Description="later")

    assert one["ResponseMetadata"]["HTTPStatusCode"] == 201
    assert (one["Version"], one["FunctionArn"]) == ("1", f"{ARN}{name}:1")
    kept = aws.get_function_configuration(FunctionName=name, Qualifier="1")
    assert (kept["Timeout"], kept["Description"], kept["CodeSha256"]) == (
        3,
        "the first",
        one["CodeSha256"],
    )
    assert answered(aws, name, Qualifier="1") == ("first", "1")
    assert answered(aws, f"{ARN}{name}:1") == ("first", "1")
    assert answered(aws, name) == answered(aws, name, Qualifier="$LATEST") == ("second", "$LATEST")


def test_the_handler_knows_its_version(aws, fresh):
    told = "import os\ndef handler(e, c):\n    return [c.function_version, c.function_name, c.invoked_function_arn, "
    told += "os.environ['AWS_LAMBDA_FUNCTION_VERSION'], c.log_stream_name.partition(']')[0]]\n"
    name = fresh()
    create(aws, name, archive(told), Publish=True)

    assert answered(aws, name, Qualifier="1")[0] == ["1", name, f"{ARN}{name}:1", "1", "[1"]
    assert answered(aws, name)[0] == ["$LATEST", name, f"{ARN}{name}", "$LATEST", "[$LATEST"]


def test_what_has_not_changed_is_not_published_again(aws, name):
    first = aws.publish_version(FunctionName=name)
    again = aws.publish_version(FunctionName=name, Description="no new one")
    aws.update_function_code(FunctionName=name, ZipFile=returning("first"))
    same = aws.publish_version(FunctionName=name)
    aws.update_function_configuration(FunctionName=name, Timeout=5)
    other = aws.publish_version(FunctionName=name)

    assert [made["Version"] for made in (first, again, same, other)] == ["1", "1", "1", "2"]


def test_create_and_update_publish_if_asked(aws, fresh):
    name = fresh()
    assert create(aws, name, Publish=True)["Version"] == "1"
    made = aws.update_function_code(FunctionName=name, ZipFile=returning("second"), Publish=True)
    assert (made["Version"], made["FunctionArn"]) == ("2", f"{ARN}{name}:2")
    assert answered(aws, name, Qualifier="1")[0] == "first"
    aws.get_waiter("published_version_active").wait(FunctionName=name, Qualifier="2")
    aws.get_waiter("function_updated_v2").wait(FunctionName=name)


def test_only_the_code_that_was_meant_is_published(aws, name):
    now = aws.get_function_configuration(FunctionName=name)
    wrong = refused(aws.publish_version, FunctionName=name, CodeSha256="another")
    stale = refused(aws.publish_version, FunctionName=name, RevisionId="another")

    assert wrong[:2] == ("InvalidParameterValueException", 400)
    assert wrong[2].startswith(
        "CodeSHA256 (another) is different from current CodeSHA256 in $LATEST"
    )
    assert stale[:2] == ("PreconditionFailedException", 412)
    made = aws.publish_version(
        FunctionName=name, CodeSha256=now["CodeSha256"], RevisionId=now["RevisionId"]
    )
    assert made["Version"] == "1"


def test_versions_are_listed_in_order_and_in_pages(aws, name):
    for number in range(11):
        aws.update_function_configuration(FunctionName=name, Description=str(number))
        aws.publish_version(FunctionName=name)

    pages = aws.get_paginator("list_versions_by_function").paginate(
        FunctionName=name, PaginationConfig={"PageSize": 5}
    )
    found = [[one["Version"] for one in page["Versions"]] for page in pages]
    assert found == [["$LATEST", "1", "2", "3", "4"], ["5", "6", "7", "8", "9"], ["10", "11"]]
    listed = aws.get_paginator("list_functions").paginate(FunctionVersion="ALL").build_full_result()
    mine = [one["FunctionArn"] for one in listed["Functions"] if one["FunctionName"] == name]
    assert mine[:2] == [f"{ARN}{name}:$LATEST", f"{ARN}{name}:1"]
    assert len(mine) == 12
    plain = aws.get_paginator("list_functions").paginate().build_full_result()["Functions"]
    assert [one["Version"] for one in plain if one["FunctionName"] == name] == ["$LATEST"]


def test_a_deleted_version_is_gone_and_its_number_is_not_given_again(aws, name):
    aws.publish_version(FunctionName=name)
    aws.delete_function(FunctionName=name, Qualifier="1")

    gone = ("ResourceNotFoundException", 404, f"Function not found: {ARN}{name}:1")
    assert refused(aws.invoke, FunctionName=name, Qualifier="1") == gone
    assert refused(aws.get_function, FunctionName=name, Qualifier="1") == gone
    assert refused(aws.delete_function, FunctionName=name, Qualifier="1") == gone
    assert aws.publish_version(FunctionName=name)["Version"] == "2"
    aws.delete_function(FunctionName=name)
    create(aws, name)
    assert aws.publish_version(FunctionName=name)["Version"] == "3"
    assert (
        refused(aws.get_function, FunctionName=name, Qualifier="2")[0]
        == "ResourceNotFoundException"
    )


def test_other_clients_cannot_change_a_version(aws, server, name):
    aws.publish_version(FunctionName=name)
    body = {"exec": {"kind": "python:3", "code": "def main(p):\n    return p\n"}}
    with server.client() as client:
        changed = client.put(f"/actions/{name}@1", params={"overwrite": "true"}, json=body)
        stripped = client.put(
            f"/actions/{name}@1", params={"overwrite": "true"}, json={"delAnnotations": ["lambda"]}
        )
        deleted = client.delete(f"/actions/{name}@1")
        alone = client.delete(f"/actions/{name}")
        run = client.post(f"/actions/{name}@1?blocking=true&result=true", json={})

    assert [one.status_code for one in (changed, stripped, deleted, alone)] == [409] * 4
    assert "published version of a Lambda function" in changed.json()["error"]
    assert "with published versions" in alone.json()["error"]
    assert run.status_code == 200
    assert answered(aws, name, Qualifier="1") == ("first", "1")


def test_a_function_without_versions_may_be_deleted_by_other_clients(aws, server, name):
    aws.tag_resource(Resource=f"{ARN}{name}", Tags={"team": "x"})
    with server.client() as client:
        assert client.delete(f"/actions/{name}").status_code == 200
    create(aws, name)

    assert aws.list_tags(Resource=f"{ARN}{name}")["Tags"] == {}


def test_a_function_of_an_earlier_version_of_the_server_has_no_record(aws, server, fresh):
    name, environment = fresh(), {"AWS_LAMBDA_FUNCTION_VERSION": "$LATEST"}
    code = packed(returning("old"), "python:3", "handler.handler", environment)
    function = {
        "FunctionName": name, "FunctionArn": f"{ARN}{name}", "Description": "", "Timeout": 3, "MemorySize": 128,
        "Runtime": "python3.11", "Handler": "handler.handler", "Role": "r", "CodeSha256": "s", "CodeSize": 1,
        "LastModified": "2026-01-01T00:00:00.000+0000", "RevisionId": "r", "Tags": {"team": "x"},
    }  # fmt: skip
    body = {
        "exec": {"kind": "python:3", "code": base64.b64encode(code).decode()},
        "annotations": [{"key": "lambda", "value": function}],
    }
    with server.client() as client:
        assert client.put(f"/actions/{name}", json=body).status_code == 200

    assert aws.list_tags(Resource=f"{ARN}{name}")["Tags"] == {"team": "x"}
    assert answered(aws, name)[0] == "old"
    assert aws.publish_version(FunctionName=name)["Version"] == "1"
    aws.update_function_code(FunctionName=name, ZipFile=returning("new"))
    assert answered(aws, name, Qualifier="1") == ("old", "1")
    assert aws.list_tags(Resource=f"{ARN}{name}")["Tags"] == {"team": "x"}


def test_a_namespace_is_deleted_with_its_functions(server):
    with server.operator() as operator:
        place = f"{server.url}/api/v1/operator/namespaces/leaving"
        user, key = operator.put(place, json={}).json()["auth"].split(":")
        aws = client_of(server, user=user, key=key)
        create(aws, "one", Publish=True)
        aws.create_alias(FunctionName="one", Name="prod", FunctionVersion="1")
        assert operator.delete(place).status_code == 200

    assert refused(aws.list_functions)[:2] == ("UnrecognizedClientException", 403)


def test_all_is_there_after_a_crash_at_once(tmp_path):
    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        aws = client_of(server)
        create(aws, "kept", Tags={"a": "b"})
        aws.publish_version(FunctionName="kept")
        aws.create_alias(FunctionName="kept", Name="prod", FunctionVersion="1")
        aws.add_permission(
            FunctionName="kept",
            StatementId="s",
            Action="lambda:InvokeFunction",
            Principal="s3.amazonaws.com",
        )
        url = aws.create_function_url_config(FunctionName="kept", AuthType="NONE")["FunctionUrl"]
        aws.put_function_event_invoke_config(FunctionName="kept", MaximumRetryAttempts=0)
        aws.put_function_concurrency(FunctionName="kept", ReservedConcurrentExecutions=2)
        aws.update_function_code(FunctionName="kept", ZipFile=returning("second"))
        server.stop(signal.SIGKILL)
    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        aws = client_of(server)
        assert answered(aws, "kept:prod") == ("first", "1")
        assert answered(aws, "kept") == ("second", "$LATEST")
        assert (
            json.loads(aws.get_policy(FunctionName="kept")["Policy"])["Statement"][0]["Sid"] == "s"
        )
        again = aws.get_function_url_config(FunctionName="kept")["FunctionUrl"]
        assert again.rsplit("/", 2)[1] == url.rsplit("/", 2)[1]
        assert aws.list_tags(Resource=f"{ARN}kept")["Tags"] == {"a": "b"}
        assert (
            aws.get_function_event_invoke_config(FunctionName="kept")["MaximumRetryAttempts"] == 0
        )
        assert (
            aws.get_function_concurrency(FunctionName="kept")["ReservedConcurrentExecutions"] == 2
        )
        aws.delete_function(FunctionName="kept")
        assert aws.list_functions(FunctionVersion="ALL")["Functions"] == []


def test_an_event_that_is_retried_runs_the_version_that_it_began_with(tmp_path):
    fails = archive("def handler(event, context):\n    raise KeyError('one')\n")
    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        aws = client_of(server)
        create(aws, "fails", fails, Publish=True)
        aws.create_alias(FunctionName="fails", Name="prod", FunctionVersion="1")
        aws.invoke(FunctionName="fails:prod", InvocationType="Event", Payload=b"{}")
        with server.client() as client:
            while not (begun := client.get("/executions", params={"name": "fails@1"}).json()):
                pass
        aws.update_function_code(FunctionName="fails", ZipFile=returning("two"), Publish=True)
        aws.update_alias(FunctionName="fails", Name="prod", FunctionVersion="2")
        assert answered(aws, "fails:prod") == ("two", "2")
        server.stop(signal.SIGKILL)
    with (
        running(tmp_path, "--auth", AUTH, "--isolation", "none") as server,
        server.client() as client,
    ):
        found = client.get(f"/executions/{begun[0]['executionId']}").json()

    assert (found["name"], found["status"]) == ("fails@1", "running")
