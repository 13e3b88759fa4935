"""Jobs of AWS' services as tasks: waited for, looked at again, and stopped."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass, replace

import anyio
import pytest

from tests.kit.infra.one_task import opened
from tests.kit.infra.servers import AUTH, running
from tests.rigs.services import json_answer
from xingqiao.infra.stepfunctions import JobPolling

OPTIMIZED = "arn:aws:states:::"
AT_ONCE = JobPolling(pauses_s=(0.0,))


@pytest.fixture
async def world(cloud):
    async with opened(jobs=AT_ONCE) as made:
        yield made


TASK = {"taskArn": "task", "clusterArn": "cluster"}
ENDED = {**TASK, "lastStatus": "STOPPED", "containers": [{"exitCode": 0}]}
EXITED = {**TASK, "lastStatus": "STOPPED", "containers": [{"exitCode": 0}, {"exitCode": 1}]}


@dataclass(frozen=True)
class Job:
    """A job as its service tells of it: when it is started, and looked at while it runs, when it is done, or has failed."""

    resource: str
    parameters: dict
    started: dict
    runs: dict
    done: dict
    failed: dict
    result: dict
    stop: tuple[str, dict]


def query(state):
    return {"QueryExecution": {"Status": {"State": state}}}


def build(status):
    return {"builds": [{"id": "b:1", "buildStatus": status}]}


def batch(status):
    return {"jobs": [{"jobId": "j", "status": status}]}


JOBS = [
    Job(
        "athena:startQueryExecution", {"QueryString": "q"}, {"QueryExecutionId": "e"},
        query("QUEUED"), query("SUCCEEDED"), query("CANCELLED"), query("SUCCEEDED"),
        ("StopQueryExecution", {"QueryExecutionId": "e"}),
    ),
    Job(
        "batch:submitJob", {"JobName": "n", "JobQueue": "q", "JobDefinition": "d"},
        {"jobArn": "arn", "jobName": "n", "jobId": "j"},
        batch("RUNNABLE"), batch("SUCCEEDED"), batch("FAILED"),
        {"JobId": "j", "Status": "SUCCEEDED"},
        ("/v1/terminatejob", {"jobId": "j", "reason": "Nobody waits for it any more."}),
    ),
    Job(
        "codebuild:startBuild", {"ProjectName": "p"}, {"build": {"id": "b:1"}},
        build("IN_PROGRESS"), build("SUCCEEDED"), build("TIMED_OUT"),
        {"Build": {"Id": "b:1", "BuildStatus": "SUCCEEDED"}},
        ("StopBuild", {"id": "b:1"}),
    ),
    Job(
        "ecs:runTask", {"TaskDefinition": "d"}, {"tasks": [TASK], "failures": []},
        {"tasks": [{**TASK, "lastStatus": "RUNNING"}]}, {"tasks": [ENDED]}, {"tasks": [EXITED]},
        {"TaskArn": "task", "ClusterArn": "cluster", "LastStatus": "STOPPED",
         "Containers": [{"ExitCode": 0}]},
        ("StopTask", {"cluster": "cluster", "task": "task",
                      "reason": "Nobody waits for it any more."}),
    ),
    Job(
        "glue:startJobRun", {"JobName": "g"}, {"JobRunId": "r"},
        {"JobRun": {"Id": "r", "JobRunState": "RUNNING"}},
        {"JobRun": {"Id": "r", "JobRunState": "SUCCEEDED"}},
        {"JobRun": {"Id": "r", "JobRunState": "TIMEOUT"}},
        {"Id": "r", "JobRunState": "SUCCEEDED"},
        ("BatchStopJobRun", {"JobName": "g", "JobRunIds": ["r"]}),
    ),
]  # fmt: skip


each_job = pytest.mark.parametrize("job", JOBS, ids=lambda job: job.resource)


def play(cloud, *answers):
    cloud.faults = [json_answer(answer) for answer in answers]


@each_job
async def test_the_end_of_a_job_is_waited_for(world, cloud, job):
    play(cloud, job.started, job.runs, job.runs, job.done)

    found = await world.result(f"{OPTIMIZED}{job.resource}.sync", job.parameters)

    assert found == job.result
    assert len(cloud.seen) == 4


@each_job
async def test_a_job_may_fail(world, cloud, job):
    play(cloud, job.started, job.failed)

    told = await world.error(f"{OPTIMIZED}{job.resource}.sync", job.parameters)

    assert told["Error"] == "States.TaskFailed"
    assert json.loads(told["Cause"]).keys() == job.result.keys()


@each_job
async def test_a_job_that_is_not_waited_for_any_more_is_stopped(world, cloud, job):
    play(cloud, job.started, *[job.runs] * 10_000)
    execution = await world.begun(f"{OPTIMIZED}{job.resource}.sync", job.parameters)
    while len(cloud.seen) < 3:
        await anyio.lowlevel.checkpoint()

    await world.engine.cancel("guest", execution.id)
    await world.outcome(execution)

    operation, parameters = job.stop
    while not (asked := [seen for seen in cloud.seen if operation in seen.named]):
        await anyio.lowlevel.checkpoint()
    assert json.loads(asked[0].body) == parameters


async def test_one_task_is_waited_for_and_no_more(world, cloud):
    play(cloud, JOBS[3].started, JOBS[3].done)

    one = await world.result(f"{OPTIMIZED}ecs:runTask.sync", {"TaskDefinition": "d", "Count": 1})
    two = await world.error(f"{OPTIMIZED}ecs:runTask.sync", {"TaskDefinition": "d", "Count": 2})

    assert one == JOBS[3].result
    assert json.loads(cloud.seen[0].body)["startedBy"] == "AWS Step Functions"
    assert two["Cause"] == "ecs:runTask.sync waits for one task: Count must be 1."
    assert len(cloud.seen) == 2


async def test_a_build_is_started_once(world, cloud):
    job = JOBS[2]
    play(cloud, job.started, job.done)
    execution = await world.begun(f"{OPTIMIZED}{job.resource}.sync", job.parameters)
    await world.outcome(execution)

    assert len(json.loads(cloud.seen[0].body)["idempotencyToken"]) == 32


def test_a_job_is_looked_at_again_after_a_crash_and_not_started_again(cloud, tmp_path):
    job = JOBS[-1]
    allowed = {**os.environ, "XINGQIAO_AUTH": AUTH, "XINGQIAO_AMBIENT_SERVICES": "guest"}
    options = ("--isolation", "none")
    play(cloud, job.started, *[job.runs] * 1000)
    task = {"Type": "Task", "Resource": f"{OPTIMIZED}{job.resource}.sync", "End": True}
    definition = json.dumps({"StartAt": "T", "States": {"T": task}})
    with running(tmp_path, *options, environment=allowed) as server, server.client() as client:
        made = client.put("/actions/m", json={"exec": {"kind": "states", "definition": definition}})
        assert made.status_code == 200, made.text
        id = client.post("/actions/m", json=job.parameters).json()["activationId"]
        cloud.asked(2)  # it has been started, and looked at
        server.stop(signal.SIGKILL)
    play(cloud, job.done)
    with running(tmp_path, *options, environment=allowed) as server, server.client() as client:
        record = client.get(f"/activations/{id}", params={"wait": 20_000}).json()

    assert record["response"]["result"] == job.result
    assert [seen.named for seen in cloud.seen].count("AWSGlue.StartJobRun") == 1


MISSING = {"tasks": [], "failures": [{"reason": "MISSING"}]}


async def test_looking_may_fail_for_some_time(world, cloud):
    job = JOBS[3]
    expired = json_answer({"__type": "ExpiredTokenException", "message": "No."}, 400)
    busy = json_answer({"__type": "ServerException", "message": "Slowly."}, 500)
    play(cloud, job.started, MISSING)
    cloud.faults += [busy, expired, expired, json_answer(job.runs), json_answer(job.done)]

    assert await world.result(f"{OPTIMIZED}{job.resource}.sync", job.parameters) == job.result


@pytest.mark.parametrize("seen", [MISSING, {"tasks": []}, {}])
async def test_a_job_that_is_not_seen_for_long_is_stopped(cloud, seen):
    play(cloud, JOBS[3].started, *[seen] * 10_000)

    async with opened(jobs=replace(AT_ONCE, unseen_ms=50)) as world:
        told = await world.error(f"{OPTIMIZED}ecs:runTask.sync", JOBS[3].parameters)

    assert told == {"Error": "States.TaskFailed", "Cause": "The description of the job is empty."}
    assert "StopTask" in cloud.seen[-1].named


async def test_a_task_that_was_not_placed_is_no_job(world, cloud):
    play(cloud, {"tasks": [], "failures": [{"reason": "RESOURCE:CPU"}]})

    told = await world.error(f"{OPTIMIZED}ecs:runTask.sync", {"TaskDefinition": "d"})

    assert told == {"Error": "States.TaskFailed", "Cause": "RESOURCE:CPU"}
