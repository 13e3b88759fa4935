"""The service's figures, in Prometheus' text format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.core import Metric

    from ...actions.runtimes import WorkerPool
    from ...adapters import CloudInvoker, Completions, Tally
    from ..access import AuditLog, Failures
    from ..engine import Engine


GAUGES = {
    "activations_waiting_for_a_worker": "Invocations that wait for a free worker, or behind another one in a worker",
    "calls_refused_by_store": "Calls answered with 503 because the store did not commit, since the start",
    "cloudevents_pending": "CloudEvents that are accepted and not matched with triggers yet",
    "cloudevents_pending_longest_s": "Seconds since the oldest of these was accepted",
    "commits": "Commits of the engine since the start",
    "dead_letters": "Dead letters that are kept",
    "schedules": "Schedules that start actions",
    "entities_in_memory": "Entities whose state is in memory",
    "evaluating": "Executions whose expressions are evaluated in slices, because they take long",
    "executions_in_memory": "Executions whose state is in memory",
    "in_doubt": "Votes of transactions without a decision",
    "in_doubt_longest_s": "Seconds since the oldest vote without a decision",
    "limit_slots_held": "Slots of limits that executions hold",
    "limit_waiting": "Executions and branches that wait for a slot of a limit",
    "limit_waiting_longest_s": "Seconds since the first of these began to wait",
    "limited_steps": "Steps that wait for a limit of their action",
    "live": "Executions and branches that have not ended",
    "parked_steps": "Steps that wait for a function of an embedding program",
    "polling_workers": "Workers outside that wait for a task of a queue",
    "put_off": "Events that wait for their namespace's turn",
    "queued_tasks": "Tasks that wait in queues",
    "recovery_left": "Executions that recovery has not resumed yet",
    "steps_under_way": "Steps that run now",
    "store_healthy": "1 if the store commits, else 0",
    "stuck": "Sagas whose compensation failed for good",
    "stuck_longest_s": "Seconds since the oldest of these failures",
    "taken_tasks": "Tasks of queues that workers outside have",
    "timers": "Timers that are set",
    "waiters": "Callers that wait for a result",
    "workers": "Worker processes",
}


def access_metrics(failures: Failures, audit: AuditLog) -> Callable[[], bytes]:
    """Returns a function that writes the metrics of authentication and of the audit log."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Access(failures, audit))
    return lambda: generate_latest(registry)


def metrics_of(
    engine: Engine, pool: WorkerPool, clouds: CloudInvoker, completions: Completions | None = None
) -> Callable[[], bytes]:
    """Returns a function that writes all metrics in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(engine, pool))
    registry.register(_Elsewhere(clouds))
    if completions is not None:
        registry.register(_Messages(completions.tally))
    return lambda: generate_latest(registry)


class _Collector:
    """Reads the metrics on request; nothing is counted twice."""

    def __init__(self, engine: Engine, pool: WorkerPool) -> None:
        self._engine, self._pool = engine, pool

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        counters = self._engine.counters
        executions = CounterMetricFamily(
            "xingqiao_executions", "Executions by status", labels=["status"]
        )
        for status in ("started", "succeeded", "failed", "cancelled", "continued"):
            executions.add_metric([status], getattr(counters, status))
        yield executions
        events = CounterMetricFamily(
            "xingqiao_cloudevents", "CloudEvents by what came of them", labels=["result"]
        )
        for result in ("accepted", "duplicates", "conflicts", "refused", "matched", "unclaimed"):
            events.add_metric([result], getattr(counters, f"events_{result}"))
        yield events
        for name, value, text in (
            ("steps", counters.steps, "Steps begun"),
            ("steps_failed", counters.steps_failed, "Steps that failed"),
            ("stale_events", counters.stale, "Completions and timers that came late or twice"),
            (
                "transactions_damaged",
                counters.damaged,
                "Transactions that an operator decided differently from their coordinators",
            ),
            ("executions_recovered", counters.recovered, "Executions resumed after a start"),
            (
                "dead_letters_kept",
                counters.letters,
                "Calls without a waiting caller that failed for good",
            ),
            (
                "dead_letters_dropped",
                counters.letters_dropped,
                "Dead letters deleted to make room for newer ones",
            ),
            (
                "invocations_sent_again",
                self._pool.resent,
                "Invocations whose worker died before user code had begun",
            ),
            (
                "executions_withdrawn",
                counters.withdrawn,
                "Executions whose calls were answered with 503 because the store did not commit",
            ),
        ):
            yield CounterMetricFamily(f"xingqiao_{name}", text, value)
        for name, value in {
            **self._engine.gauges(),
            "workers": self._pool.size,
            "activations_waiting_for_a_worker": self._pool.waiting,
            "store_healthy": int(self._engine.healthy),
        }.items():
            text = GAUGES.get(name, name.replace("_", " "))
            yield GaugeMetricFamily(f"xingqiao_{name}", text, value)


class _Access:
    """Reads the metrics of authentication and of the audit log."""

    def __init__(self, failures: Failures, audit: AuditLog) -> None:
        self._failures, self._audit = failures, audit

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        failed = CounterMetricFamily(
            "xingqiao_authentication_failures",
            "Requests without valid credentials, by reason",
            labels=["reason"],
        )
        for reason, count in self._failures.counts.items():
            failed.add_metric([reason], count)
        yield failed
        yield CounterMetricFamily(
            "xingqiao_audit_entries_lost",
            "Audit entries not stored: refusals over the bound, and failed commits",
            self._audit.unkept,
        )


class _Elsewhere:
    """Reads the metrics of actions that run elsewhere."""

    def __init__(self, clouds: CloudInvoker) -> None:
        self._clouds = clouds

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        ended = CounterMetricFamily(
            "xingqiao_elsewhere", "Runs elsewhere by result", labels=["kind", "result"]
        )
        for labels, count in self._clouds.ended.items():
            ended.add_metric(labels, count)
        repeats = CounterMetricFamily(
            "xingqiao_elsewhere_repeats", "Runs elsewhere requested again", labels=["kind"]
        )
        for kind, count in self._clouds.repeats.items():
            repeats.add_metric([kind], count)
        under_way, polled = self._clouds.under_way
        yield ended
        yield repeats
        yield GaugeMetricFamily(
            "xingqiao_elsewhere_under_way", "Runs elsewhere under way", under_way
        )
        yield GaugeMetricFamily(
            "xingqiao_elsewhere_polled", "Runs elsewhere that were accepted and are polled", polled
        )


class _Messages:
    """Reads the metrics of a queue of completions."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        messages = CounterMetricFamily(
            "xingqiao_queued_completions", "Messages by status", labels=["status"]
        )
        for status in ("taken", "late", "refused"):
            messages.add_metric([status], getattr(self._tally, status))
        yield messages
