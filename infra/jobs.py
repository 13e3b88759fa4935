"""Jobs of AWS' services: how what was started is looked at, when it has ended, and how it is stopped.

https://docs.aws.amazon.com/step-functions/latest/dg/integrate-optimized.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .integrations import TASK_FAILED, IntegrationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from composer import JSON

REASON = "Nobody waits for it any more."


def _nothing_wrong(_answer: Any) -> None:
    """Whatever was answered, the job is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A kind of job. Answers and descriptions are as state machines see them.

    Args:
        look: the operation that describes it.
        named: its parameters, of what the start has answered.
        told: what of the description is the result.
        status: its status in that.
        good: the statuses of one that has ended well.
        bad: those of one that has ended otherwise.
        stop: the operation that stops it.
        stopped: its parameters, for all that the start has started.
        kept: parameters of the start that are kept with its answer, to look at it by.
        check: raises IntegrationError when the answer to the start says that there is no job.
        went_well: whether one with a good status has succeeded.
    """

    look: str
    named: Callable[[Any], JSON]
    told: Callable[[Any], Any]
    status: Callable[[Any], JSON]
    good: frozenset[str]
    bad: frozenset[str]
    stop: str
    stopped: Callable[[Any], list[JSON]]
    kept: tuple[str, ...] = ()
    check: Callable[[Any], None] = field(default=_nothing_wrong)
    went_well: Callable[[Any], bool] = field(default=lambda _told: True)

    def ended(self, told: Any) -> bool | None:
        """Whether it has ended well; None while it is under way."""
        status = self.status(told)
        if status in self.good:
            return self.went_well(told)
        return False if status in self.bad else None


def _check_tasks(answer: Any) -> None:
    if not answer.get("Tasks"):
        failures = answer.get("Failures") or [{}]
        raise IntegrationError(TASK_FAILED, str(failures[0].get("Reason", "No task was started.")))


def _exited_well(task: Any) -> bool:
    return all(container.get("ExitCode") == 0 for container in task.get("Containers", []))


def _tasks(seen: Any) -> Any:
    """The one task, as AWS has it; or all of several. One that cannot be seen yet is a LookupError."""
    if seen.get("Failures") or not seen["Tasks"]:
        raise LookupError
    return seen["Tasks"][0] if len(seen["Tasks"]) == 1 else {"Tasks": seen["Tasks"]}


def _each(told: Any) -> Any:
    return told.get("Tasks", [told])


def _furthest(told: Any) -> JSON:
    """The status of all tasks: that of one that has not stopped, if there is any."""
    states: list[JSON] = [task["LastStatus"] for task in _each(told)]
    return next((state for state in states if state != "STOPPED"), "STOPPED")


JOBS = {
    "athena:startQueryExecution": Job(
        look="getQueryExecution",
        named=lambda answer: {"QueryExecutionId": answer["QueryExecutionId"]},
        told=lambda seen: seen,
        status=lambda told: told["QueryExecution"]["Status"]["State"],
        good=frozenset({"SUCCEEDED"}),
        bad=frozenset({"FAILED", "CANCELLED"}),
        stop="stopQueryExecution",
        stopped=lambda answer: [{"QueryExecutionId": answer["QueryExecutionId"]}],
    ),
    "batch:submitJob": Job(
        look="describeJobs",
        named=lambda answer: {"Jobs": [answer["JobId"]]},
        told=lambda seen: seen["Jobs"][0],
        status=lambda told: told["Status"],
        good=frozenset({"SUCCEEDED"}),
        bad=frozenset({"FAILED"}),
        stop="terminateJob",
        stopped=lambda answer: [{"JobId": answer["JobId"], "Reason": REASON}],
    ),
    "codebuild:startBuild": Job(
        look="batchGetBuilds",
        named=lambda answer: {"Ids": [answer["Build"]["Id"]]},
        told=lambda seen: {"Build": seen["Builds"][0]},
        status=lambda told: told["Build"]["BuildStatus"],
        good=frozenset({"SUCCEEDED"}),
        bad=frozenset({"FAILED", "FAULT", "STOPPED", "TIMED_OUT"}),
        stop="stopBuild",
        stopped=lambda answer: [{"Id": answer["Build"]["Id"]}],
    ),
    "ecs:runTask": Job(
        look="describeTasks",
        named=lambda answer: {
            "Cluster": answer["Tasks"][0]["ClusterArn"],
            "Tasks": [task["TaskArn"] for task in answer["Tasks"]],
        },
        told=_tasks,
        status=_furthest,
        good=frozenset({"STOPPED"}),
        bad=frozenset(),
        stop="stopTask",
        stopped=lambda answer: [
            {"Cluster": task["ClusterArn"], "Task": task["TaskArn"], "Reason": REASON}
            for task in answer["Tasks"]
        ],
        check=_check_tasks,
        went_well=lambda told: all(_exited_well(task) for task in _each(told)),
    ),
    "glue:startJobRun": Job(
        look="getJobRun",
        named=lambda answer: {"JobName": answer["JobName"], "RunId": answer["JobRunId"]},
        told=lambda seen: seen["JobRun"],
        status=lambda told: told["JobRunState"],
        good=frozenset({"SUCCEEDED"}),
        bad=frozenset({"ERROR", "EXPIRED", "FAILED", "STOPPED", "TIMEOUT"}),
        stop="batchStopJobRun",
        stopped=lambda answer: [{"JobName": answer["JobName"], "JobRunIds": [answer["JobRunId"]]}],
        kept=("JobName",),
    ),
}
