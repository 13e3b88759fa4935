"""Jobs of AWS' services: how what was started is looked at, when it has ended, and how it is stopped.

https://docs.aws.amazon.com/step-functions/latest/dg/integrate-optimized.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...aws import TASK_FAILED, IntegrationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....composer import JSON

REASON = "Nobody waits for it any more."


def _nothing_wrong(_answer: Any) -> None:
    """Whatever was answered, the job is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """A kind of job. Answers and descriptions are as state machines see them.

    Args:
        look: the operation that describes it.
        named: its parameters, of what the start has answered.
        told: what of the description is the result; None when nothing is described.
        status: its status in that.
        good: the statuses of one that has ended well.
        bad: those of one that has ended otherwise.
        stop: the operation that stops it.
        stopped: its parameters, of what the start has answered.
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
    stopped: Callable[[Any], JSON]
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


def _first(seen: Any, name: str) -> Any:
    """The one thing that was asked for; None when it cannot be seen (yet)."""
    return next(iter(seen.get(name, ())), None)


def _build(seen: Any) -> Any:
    build = _first(seen, "Builds")
    return None if build is None else {"Build": build}


JOBS = {
    "athena:startQueryExecution": JobKind(
        look="getQueryExecution",
        named=lambda answer: {"QueryExecutionId": answer["QueryExecutionId"]},
        told=lambda seen: seen or None,
        status=lambda told: told["QueryExecution"]["Status"]["State"],
        good=frozenset({"SUCCEEDED"}),
        bad=frozenset({"FAILED", "CANCELLED"}),
        stop="stopQueryExecution",
        stopped=lambda answer: {"QueryExecutionId": answer["QueryExecutionId"]},
    ),
    "batch:submitJob": JobKind(
        look="describeJobs",
        named=lambda answer: {"Jobs": [answer["JobId"]]},
        told=lambda seen: _first(seen, "Jobs"),
        status=lambda told: told["Status"],
        good=frozenset({"SUCCEEDED"}),
        bad=frozenset({"FAILED"}),
        stop="terminateJob",
        stopped=lambda answer: {"JobId": answer["JobId"], "Reason": REASON},
    ),
    "codebuild:startBuild": JobKind(
        look="batchGetBuilds",
        named=lambda answer: {"Ids": [answer["Build"]["Id"]]},
        told=_build,
        status=lambda told: told["Build"]["BuildStatus"],
        good=frozenset({"SUCCEEDED"}),
        bad=frozenset({"FAILED", "FAULT", "STOPPED", "TIMED_OUT"}),
        stop="stopBuild",
        stopped=lambda answer: {"Id": answer["Build"]["Id"]},
    ),
    "ecs:runTask": JobKind(
        look="describeTasks",
        named=lambda answer: {
            "Cluster": answer["Tasks"][0]["ClusterArn"],
            "Tasks": [answer["Tasks"][0]["TaskArn"]],
        },
        told=lambda seen: _first(seen, "Tasks"),
        status=lambda told: told["LastStatus"],
        good=frozenset({"STOPPED"}),
        bad=frozenset(),
        stop="stopTask",
        stopped=lambda answer: {
            "Cluster": answer["Tasks"][0]["ClusterArn"],
            "Task": answer["Tasks"][0]["TaskArn"],
            "Reason": REASON,
        },
        check=_check_tasks,
        went_well=_exited_well,
    ),
    "glue:startJobRun": JobKind(
        look="getJobRun",
        named=lambda answer: {"JobName": answer["JobName"], "RunId": answer["JobRunId"]},
        told=lambda seen: seen.get("JobRun"),
        status=lambda told: told["JobRunState"],
        good=frozenset({"SUCCEEDED"}),
        bad=frozenset({"ERROR", "EXPIRED", "FAILED", "STOPPED", "TIMEOUT"}),
        stop="batchStopJobRun",
        stopped=lambda answer: {"JobName": answer["JobName"], "JobRunIds": [answer["JobRunId"]]},
        kept=("JobName",),
    ),
}
