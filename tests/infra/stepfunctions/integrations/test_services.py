"""AWS' services as tasks of state machines: asked for as AWS asks, and named as AWS names them."""

from __future__ import annotations

import json
import os
from functools import partial

import boto3
import pytest
from werkzeug.wrappers import Response

from tests.kit.infra.one_task import opened
from tests.kit.infra.servers import AUTH, KEY, USER, running
from tests.rigs.services import json_answer
from tests.rigs.signatures import KEYS, REGION
from xingqiao import composer
from xingqiao.actions import Action, Package, Retrying
from xingqiao.composer import Name
from xingqiao.infra.aws.integrations import FirstOf, Integrations
from xingqiao.infra.engine import Beginning
from xingqiao.infra.service.embedded_engine import Embedded
from xingqiao.infra.stepfunctions.integrations.httptasks import HttpTasks
from xingqiao.infra.stepfunctions.integrations.services import AwsIntegrations, JobPolling

SDK = "arn:aws:states:::aws-sdk:"
OPTIMIZED = "arn:aws:states:::"


@pytest.fixture
async def world(cloud):
    async with opened() as made:
        yield made


def knows(resource):
    """Whether a definition that names this resource is taken."""
    registry = AwsIntegrations(None, None, frozenset(), None, JobPolling())
    return Integrations(FirstOf(registry, HttpTasks(None, None, None)), None).knows(resource)


def table(cloud):
    cloud.client("dynamodb").create_table(
        TableName="t", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
    )  # fmt: skip


def sent(cloud):
    return json.loads(cloud.seen[-1].body)


# --- by way of the SDK ---------------------------------------------------------------------------


async def test_members_are_called_as_the_library_for_java_calls_them(world):
    queue = (await world.result(f"{SDK}sqs:createQueue", {"QueueName": "q"}))["QueueUrl"]
    message = {"QueueUrl": queue, "MessageBody": "hello"}
    sent_one = await world.result(f"{SDK}sqs:sendMessage", message)
    received = await world.result(f"{SDK}sqs:receiveMessage", {"QueueUrl": queue})

    assert sent_one.keys() == {"Md5OfMessageBody", "MessageId"}
    assert received["Messages"][0]["Body"] == "hello"
    assert received["Messages"][0]["Md5OfBody"] == sent_one["Md5OfMessageBody"]


async def test_an_api_that_begins_its_members_with_small_letters_is_asked_in_capitals(world, cloud):
    made = await world.result(f"{SDK}ecs:createCluster", {"ClusterName": "c"})

    assert sent(cloud) == {"clusterName": "c"}
    assert made["Cluster"]["ClusterName"] == "c"


async def test_objects_are_written_and_read(world, cloud):
    cloud.client("s3").create_bucket(Bucket="bucket")
    where = {"Bucket": "bucket", "Key": "a/b c.json"}

    await world.result(f"{SDK}s3:putObject", {**where, "Body": {"n": [1, "é"]}})
    found = await world.result(f"{SDK}s3:getObject", where)
    listed = await world.result(f"{SDK}s3:listObjectsV2", {"Bucket": "bucket"})

    assert json.loads(found["Body"]) == {"n": [1, "é"]}
    assert [item["Key"] for item in listed["Contents"]] == ["a/b c.json"]
    assert listed["Contents"][0]["LastModified"].endswith("Z")


async def test_bytes_that_are_no_text_are_read_in_base64(world, cloud):
    client = cloud.client("s3")
    client.create_bucket(Bucket="bucket")
    client.put_object(Bucket="bucket", Key="k", Body=b"\xff\x00")

    found = await world.result(f"{SDK}s3:getObject", {"Bucket": "bucket", "Key": "k"})

    assert found["Body"] == "/wA="


@pytest.mark.parametrize(
    ("resource", "parameters", "error"),
    [
        ("s3:getObject", {"Bucket": "bucket", "Key": "none"}, "S3.NoSuchKeyException"),
        ("dynamodb:getItem", {"TableName": "none", "Key": {"k": {"S": "1"}}},
         "DynamoDb.ResourceNotFoundException"),
        ("sqs:getQueueUrl", {"QueueName": "none"}, "Sqs.QueueDoesNotExistException"),
        ("secretsmanager:getSecretValue", {"SecretId": "none"},
         "SecretsManager.ResourceNotFoundException"),
        ("sns:publish", {"TopicArn": f"arn:aws:sns:{REGION}:123456789012:none", "Message": "x"},
         "Sns.NotFoundException"),
    ],
)  # fmt: skip
async def test_errors_are_named_as_in_state_machines(world, cloud, resource, parameters, error):
    cloud.client("s3").create_bucket(Bucket="bucket")

    told = await world.error(SDK + resource, parameters)

    assert told["Error"] == error
    called = error.partition(".")[0]
    assert f"(Service: {called}, Status Code: 4" in told["Cause"]
    assert ", Request ID: " in told["Cause"]


async def test_an_error_that_the_model_does_not_know_is_the_services(world, cloud):
    cloud.faults = [json_answer({"__type": "ValidationException", "message": "No."}, 400)]

    told = await world.error(f"{SDK}dynamodb:listTables")

    assert told["Error"] == "DynamoDb.DynamoDbException"
    assert told["Cause"].startswith("No. (Service: DynamoDb, Status Code: 400, Request ID: ")


async def test_parameters_that_there_are_not_are_named(world):
    unknown = await world.error(f"{SDK}sqs:sendMessage", {"Queue": "q", "MessageBody": "x"})
    wrong = await world.error(f"{SDK}sqs:sendMessage", {"QueueUrl": "q", "MessageBody": 1})

    none = await world.error(f"{SDK}sqs:listQueues", ["q"])

    assert unknown["Error"] == wrong["Error"] == none["Error"] == "States.Runtime"
    assert none["Cause"] == "aws-sdk:sqs:listQueues: its parameters must be an object"
    assert unknown["Cause"].startswith("aws-sdk:sqs:sendMessage: Parameter validation failed")
    assert 'Unknown parameter in input: "Queue"' in unknown["Cause"]
    assert "Invalid type for parameter MessageBody" in wrong["Cause"]


async def test_what_is_asked_for_again_bears_the_same_key(world, cloud):
    cloud.faults = [json_answer({"__type": "ThrottlingException", "message": "Slowly."}, 400)]

    await world.result(f"{SDK}secretsmanager:createSecret", {"Name": "s", "SecretString": "x"})

    tokens = {json.loads(seen.body)["ClientRequestToken"] for seen in cloud.seen}
    assert (len(cloud.seen), len(tokens)) == (2, 1)


@pytest.mark.parametrize("resource", ["sqs:unheardOf", "sqs:SendMessage", "unheardof:sendMessage", "states:startExecution", "stepfunctions:startExecution"])  # fmt: skip
def test_what_is_no_call_is_refused_when_it_is_deployed(resource):
    assert not knows(SDK + resource)
    assert knows(f"{SDK}sqs:sendMessage.waitForTaskToken")


# --- optimized -----------------------------------------------------------------------------------


async def test_messages_may_be_values(world, cloud):
    queue = cloud.client("sqs").create_queue(QueueName="q")["QueueUrl"]

    told = await world.result(
        f"{OPTIMIZED}sqs:sendMessage", {"QueueUrl": queue, "MessageBody": {"n": 1}}
    )

    assert sent(cloud)["MessageBody"] == '{"n":1}'
    assert told.keys() == {
        "MD5OfMessageBody", "MessageId", "SdkHttpMetadata", "SdkResponseMetadata",
    }  # fmt: skip
    assert told["SdkHttpMetadata"]["HttpStatusCode"] == 200
    assert told["SdkResponseMetadata"]["RequestId"]


async def test_items_keep_the_names_of_their_types(world, cloud):
    table(cloud)
    item = {"k": {"S": "1"}, "yes": {"BOOL": True}, "none": {"NULL": True}}

    await world.result(f"{OPTIMIZED}dynamodb:putItem", {"TableName": "t", "Item": item})
    asked = {"TableName": "t", "Key": {"k": {"S": "1"}}}
    found = await world.result(f"{OPTIMIZED}dynamodb:getItem", asked)
    by_sdk = await world.result(f"{SDK}dynamodb:getItem", asked)

    assert found["Item"] == item
    assert by_sdk["Item"]["yes"] == {"Bool": True}


async def test_optimized_errors_have_their_own_names(world, cloud):
    table(cloud)
    put = {
        "TableName": "t",
        "Item": {"k": {"S": "1"}},
        "ConditionExpression": "attribute_exists(k)",
    }

    failed = await world.error(f"{OPTIMIZED}dynamodb:putItem", put)
    cloud.faults = [json_answer({"__type": "ValidationException", "message": "No."}, 400)]
    unknown = await world.error(f"{OPTIMIZED}dynamodb:putItem", put)

    assert failed["Error"] == "DynamoDB.ConditionalCheckFailedException"
    assert "(Service: AmazonDynamoDB; Status Code: 400; Error Code: ConditionalCheckFailed" in failed["Cause"]  # fmt: skip
    assert unknown["Error"] == "DynamoDB.AmazonDynamoDBException"


async def test_events_name_where_they_come_from(world, cloud):
    entry = {"Source": "mine", "DetailType": "t", "Detail": {"n": 1}, "Resources": ["r"]}
    execution = await world.begun(f"{OPTIMIZED}events:putEvents", {"Entries": [entry]})
    await world.outcome(execution)

    (put,) = sent(cloud)["Entries"]
    machine = execution.address.replace(":execution:", ":stateMachine:").rpartition(":")[0]
    assert put["Detail"] == '{"n":1}'
    assert put["Resources"] == ["r", machine, execution.address]


async def test_an_event_that_is_not_taken_fails(world, cloud):
    cloud.faults = [json_answer({"FailedEntryCount": 1, "Entries": [{"ErrorCode": "InternalFailure"}]})]  # fmt: skip

    told = await world.error(f"{OPTIMIZED}events:putEvents", {"Entries": [{"Source": "s"}]})

    assert told["Error"] == "EventBridge.FailedEntry"
    assert json.loads(told["Cause"])["Entries"] == [{"ErrorCode": "InternalFailure"}]


@pytest.mark.parametrize(
    ("resource", "known"),
    [("sns:publish", True), ("batch:submitJob.sync", True), ("glue:startJobRun", True),
     ("dynamodb:scan", False), ("dynamodb:getItem.sync", False), ("eks:runJob.sync", False),
     ("databrew:startJobRun.sync", False), ("apigateway:invoke", False),
     ("dynamodb:getItem.waitForTaskToken", False), ("sqs:sendMessage.waitForTaskToken", True),
     ("ecs:runTask.sync:2", False), ("ecs:runTask.waitForTaskToken", True), ("http:invoke.waitForTaskToken", False)],
)  # fmt: skip
def test_what_is_optimized_is_known(resource, known):
    assert knows(OPTIMIZED + resource) is known


# --- who asks ------------------------------------------------------------------------------------


async def test_a_namespace_asks_with_its_own_secret(world, cloud):
    cloud.keys["AKIAOTHER0000000000"] = "another"
    secret = {"type": "aws", "access_key_id": "AKIAOTHER0000000000", "secret_access_key": "another"}
    await world.result(f"{SDK}sqs:listQueues")
    await world.service.secrets.put("guest", "aws", secret, lambda given: None)
    await world.result(f"{SDK}sqs:listQueues")

    assert [seen.key for seen in cloud.seen] == [KEYS[0], "AKIAOTHER0000000000"]


@pytest.mark.parametrize("allowed", [{"ambient_services": ""}, {"ambient_services": "other"}])
async def test_the_servers_own_credentials_are_for_those_who_are_named(cloud, allowed):
    async with opened(**allowed) as world:
        told = await world.error(f"{SDK}sqs:listQueues")

    assert told["Error"] == "States.Permissions"
    assert "XINGQIAO_AMBIENT_SERVICES" in told["Cause"]
    assert cloud.seen == []


async def test_who_may_not_use_the_servers_own_credentials_needs_a_secret(cloud):
    async with opened(ambient_namespaces="other") as world:
        told = await world.error(f"{SDK}sqs:listQueues")

    assert told["Error"] == "States.Permissions"
    assert "may not use this server's own credentials" in told["Cause"]
    assert cloud.seen == []


async def test_what_aws_says_of_a_signature_is_not_shown(cloud, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    async with opened() as world:
        told = await world.error(f"{SDK}dynamodb:listTables")

    assert told["Error"] == "DynamoDb.DynamoDbException"
    assert told["Cause"].startswith("AWS says that the secret key is another")
    assert KEYS[1] not in json.dumps(told)


async def test_what_does_not_answer_is_told(cloud, monkeypatch):
    monkeypatch.setattr("xingqiao.adapters.aws.services.Retrying", partial(Retrying, attempts=1))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    async with opened() as world:
        by_sdk = await world.error(f"{SDK}sqs:listQueues")
        optimized = await world.error(f"{OPTIMIZED}sqs:sendMessage", {"QueueUrl": "q", "MessageBody": "m"})  # fmt: skip

    assert (by_sdk["Error"], optimized["Error"]) == ("Sqs.SdkClientException", "SQS.SdkClientException")  # fmt: skip


async def test_without_a_region_it_is_said_what_to_set(cloud, monkeypatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    async with opened() as world:
        told = await world.error(f"{SDK}sqs:listQueues")

    assert told["Error"] == "States.Runtime"
    assert "AWS_REGION" in told["Cause"]


def test_a_message_that_bears_a_token_is_answered_by_whoever_reads_it(cloud, tmp_path):
    queues = cloud.client("sqs")
    queue = queues.create_queue(QueueName="work")["QueueUrl"]
    message = {"Token.$": "$$.Task.Token", "Order.$": "$.order"}
    task = {
        "Type": "Task", "Resource": f"{OPTIMIZED}sqs:sendMessage.waitForTaskToken", "End": True,
        "Parameters": {"QueueUrl": queue, "MessageBody": message},
    }  # fmt: skip
    allowed = {**os.environ, "XINGQIAO_AUTH": AUTH, "XINGQIAO_AMBIENT_SERVICES": "guest"}
    with running(tmp_path, "--isolation", "none", environment=allowed) as server:
        states = boto3.client(
            "stepfunctions", endpoint_url=server.url, region_name=REGION, aws_access_key_id=USER,
            aws_secret_access_key=KEY,
        )  # fmt: skip
        machine = states.create_state_machine(
            name="orders", roleArn="arn:aws:iam::111111111111:role/r",
            definition=json.dumps({"StartAt": "T", "States": {"T": task}}),
        )["stateMachineArn"]  # fmt: skip
        run = states.start_execution(stateMachineArn=machine, input='{"order": 7}')["executionArn"]
        while not (got := queues.receive_message(QueueUrl=queue, WaitTimeSeconds=5)).get(
            "Messages"
        ):
            pass
        body = json.loads(got["Messages"][0]["Body"])
        states.send_task_success(taskToken=body["Token"], output='{"done": true}')
        while (told := states.describe_execution(executionArn=run))["status"] == "RUNNING":
            pass
        states.close()

    assert (body["Order"], told["output"]) == (7, '{"done":true}')


# --- what others could do -----------------------------------------------------------------------

THEIRS = Name("other", "shared", "theirs")
REFUSED = "A state machine of the namespace 'other' cannot use integrations when 'guest' runs it: it gets the secrets of neither."


async def lent(world, name):
    """An execution, by `guest`, of a machine of another namespace: it waits a second, and asks then."""
    task = {"Type": "Task", "Resource": f"{SDK}sqs:listQueues", "Parameters": {}, "End": True}
    states = {"W": {"Type": "Wait", "Seconds": 1, "Next": "T"}, "T": task}
    document = {
        "exec": {"kind": "states", "definition": json.dumps({"StartAt": "W", "States": states})}
    }
    put = world.engine.registry.put
    await put(Package, Name("other", None, "shared"), {"publish": True}, overwrite=True)
    await put(Action, THEIRS, document, overwrite=True)
    binding = {"binding": {"namespace": "other", "name": "shared"}}
    await put(Package, Name("guest", None, "bound"), binding, overwrite=True)
    action = world.engine.catalog.resolve(name, "guest")
    return (await world.engine.executions.begin(Beginning(action, {}, "guest"))).execution


@pytest.mark.parametrize("name", [THEIRS, Name("guest", "bound", "theirs")], ids=str)
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_machine_of_others_is_given_nobodys_secrets(cloud, tmp_path, name, restarted):
    async with opened(tmp_path, ambient_namespaces="*", ambient_services="*") as world:
        execution = await lent(world, name)
        if not restarted:
            await world.engine.wait("guest", execution.id, 30)
    async with opened(tmp_path, ambient_namespaces="*", ambient_services="*") as world:
        await world.engine.wait("guest", execution.id, 30)
        found = await world.engine.executions.found("guest", execution.path, execution.name)
        outcome = (await world.engine.executions.data(found))[1]

    assert outcome.error == {"Error": "States.Permissions", "Cause": REFUSED}
    assert cloud.seen == []


async def test_what_machines_are_made_of_is_no_function(world, cloud):
    asked = {"service": "aws-sdk:sqs", "operation": "listQueues", "parameters": {}}
    given = {"FunctionName": "/whisk.system/states/integration", "Payload": asked}

    told = await world.error("arn:aws:states:::lambda:invoke", given)

    assert told["Error"] == "Lambda.ResourceNotFoundException"
    assert cloud.seen == []


async def test_only_machines_ask_for_integrations(world, cloud):
    xingqiao = Embedded(world.engine)
    asked = {
        "service": "aws-sdk:sqs",
        "operation": "listQueues",
        "parameters": {},
        "execution": "arn",
    }
    await xingqiao.deploy("forged", composer.sequence("/whisk.system/states/integration"))

    _, outcome = await xingqiao.run("forged", asked)

    assert outcome.error["Cause"] == "Only state machines can use integrations."
    assert cloud.seen == []


async def test_an_error_within_a_success_is_an_error(world, cloud):
    text = "<Error><Code>InternalError</Code><Message>Again.</Message></Error>"
    cloud.faults = [Response(text, 200, content_type="application/xml")] * 4
    asked = {"Bucket": "bucket", "Key": "k", "CopySource": "bucket/j"}

    told = await world.error(f"{SDK}s3:copyObject", asked)

    assert told["Error"] == "S3.S3Exception"
    assert told["Cause"].startswith("Again. (Service: S3, Status Code: 500")


async def test_services_answer_in_the_form_that_is_theirs(world, cloud):
    topic = cloud.client("sns").create_topic(Name="t")["TopicArn"]

    told = await world.result(f"{OPTIMIZED}sns:publish", {"TopicArn": topic, "Message": {"n": 1}})

    assert told["MessageId"]
    assert cloud.seen[-1].headers["Accept"] == "*/*"


async def test_what_is_no_answer_of_the_service_is_told(world, cloud):
    cloud.faults = [Response("{", 200, content_type="application/json")]

    told = await world.error(f"{SDK}sns:listTopics")

    assert told["Error"] == "Sns.SdkClientException"


async def test_what_needs_more_than_one_request_is_refused(world, cloud):
    asked = {"SourceRegion": "eu-west-1", "SourceSnapshotId": "snap-1"}

    told = await world.error(f"{SDK}ec2:copySnapshot", asked)

    assert told["Error"] == "States.Runtime"
    assert "between two regions" in told["Cause"]
    assert cloud.seen == []


async def test_data_of_users_is_not_encoded_twice(world, cloud):
    cloud.faults = [Response("<r/>", 200, content_type="text/xml")]
    asked = {"MinCount": 1, "MaxCount": 1, "UserData": "aGVsbG8="}

    await world.result(f"{SDK}ec2:runInstances", asked)

    assert b"UserData=aGVsbG8%3D" in cloud.seen[-1].body


@pytest.mark.parametrize(
    "parameters", [{"self": 1}, {"Entries": [{"Resources": 5}]}, {"Entries": 5}]
)
async def test_what_cannot_be_written_is_told_and_may_be_caught(world, cloud, parameters):
    told = await world.error(f"{OPTIMIZED}events:putEvents", parameters)

    assert told["Cause"].startswith("events:putEvents: Parameter validation failed")
