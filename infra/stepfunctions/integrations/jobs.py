"""Jobs of AWS' services: the operations that describe and stop them, and their final statuses.

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


def _accepted(_answer: Any) -> None:
    """The check of a start that always has a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """A kind of job. Answers and descriptions are in the form that state machines see.

    Args:
        look: the operation that describes the job.
        named: the parameters of `look`, made from the answer to the start.
        told: the part of the description that is the result; None if it describes no job.
        status: the status of the job in that part.
        good: the statuses of a job that has succeeded.
        bad: the statuses of a job that has failed.
        stop: the operation that stops the job.
        stopped: the parameters of `stop`, made from the answer to the start.
        kept: parameters of the start that `named` and `stopped` need beside the answer.
        check: raises IntegrationError if the answer to the start has no job.
        went_well: true if a job with a good status has succeeded.
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
    check: Callable[[Any], None] = field(default=_accepted)
    went_well: Callable[[Any], bool] = field(default=lambda _told: True)

    def ended(self, told: Any) -> bool | None:
        """True if the job has succeeded, False if it has failed; None while it is under way."""
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
    """The only member of a list in a description; None if the list is empty, as at first."""
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
