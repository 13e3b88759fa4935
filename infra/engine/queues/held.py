"""Tasks of paused executions: they wait beside their queue, and no worker gets them until the resumption."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....actions import QUEUE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..live import LiveExecution
    from .tasks import Task


class Held:
    """The tasks that are held back.

    Args:
        runs: the executions in memory.
        tasks: all tasks, by their activations.
        take_out: takes a waiting task out of its queue.
        put_back: puts it there again, at its place.
    """

    def __init__(
        self,
        runs: Mapping[str, LiveExecution],
        tasks: Mapping[str, Task],
        take_out: Callable[[Task], None],
        put_back: Callable[[Task], None],
    ) -> None:
        self._runs, self._tasks = runs, tasks
        self._take_out, self._put_back = take_out, put_back
        self._held: dict[str, dict[str, Task]] = {}  # by execution

    @property
    def count(self) -> int:
        """The number of tasks that are held back."""
        return sum(map(len, self._held.values()))

    def keeps(self, task: Task) -> bool:
        """Holds a task back that would wait in its queue, if its execution is paused."""
        execution = task.invocation.transaction
        run = self._runs.get(execution)
        paused = execution in self._held if run is None else run.suspended
        if paused:
            self._held.setdefault(execution, {})[task.id] = task
        return paused

    def pause(self, run: LiveExecution) -> None:
        """Holds back the tasks of an execution that wait. Those that workers get at this moment go on."""
        for active in run.invocations.values():
            task = self._tasks.get(active.opened.id) if active.kind == QUEUE else None
            if task is not None and task.state.taken_ms is None and task.poll is None:
                self._take_out(task)
                self.keeps(task)

    def resume(self, execution: str) -> None:
        """Lets workers have the tasks of an execution."""
        for task in self._held.pop(execution, {}).values():
            self._put_back(task)

    def forget(self, task: Task) -> None:
        """Forgets a task that nobody waits for any more."""
        held = self._held.get(task.invocation.transaction)
        if held is not None and held.pop(task.id, None) is not None and not held:
            del self._held[task.invocation.transaction]
