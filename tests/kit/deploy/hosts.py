"""A cloud in memory: a table, an outbox, actions, and faults: messages twice and late, deaths at any call."""

from __future__ import annotations

import heapq
import itertools
import json
import random
from types import FunctionType

from xingqiao.composer import Failure, compile
from xingqiao.composer.testing import Fail
from xingqiao.infra.deploy.hosted import (
    Change,
    Conductor,
    Deployed,
    Invocation,
    LaterError,
    Record,
    Wrapped,
)
from xingqiao.infra.deploy.hosted.wrapper import completed, delay_s

START_MS = 1_700_000_000_000
VISIBILITY_MS = 180_000  # a message that was not dealt with comes again after this
ID = f"{START_MS:012x}" + "0" * 20


class DiedError(BaseException):
    """The process has ended, at a call to the outside."""


class Clock:
    def __init__(self):
        self.ms = START_MS

    def now_ms(self):
        return self.ms


class Table:
    """Rows as JSON texts, so that nothing is shared with whoever wrote them."""

    def __init__(self):
        self.heads, self.rows, self.reads, self.writes = {}, {}, 0, 0
        self.meanwhile = []  # what others do while somebody is about to save, once each

    def load(self, id):
        self.reads += 1
        if id not in self.heads:
            return None
        head = json.loads(self.heads[id])
        rows = {name: json.loads(text) for (of, name), text in self.rows.items() if of == id}
        return Record(
            id=id,
            version=head["version"],
            about=head["about"],
            fibers=rows,
            unsent={int(version): left for version, left in head["unsent"].items()},
            outcome=head["outcome"],
            ended_ms=head["ended"],
        )

    def save(self, change: Change):
        if self.meanwhile:
            self.meanwhile.pop()()
        self.writes += 1
        head = json.loads(self.heads[change.id]) if change.id in self.heads else None
        if (head["version"] if head else 0) != change.version - 1:
            return False
        assert len(change.fibers) <= 90
        unsent = head["unsent"] if head else {}
        if change.unsent:
            unsent[change.version] = {"at": change.at_ms, "sends": change.unsent}
        self.heads[change.id] = json.dumps(
            {
                "version": change.version,
                "about": head["about"] if head else change.about,
                "unsent": unsent,
                "outcome": change.outcome,
                "ended": change.ended_ms,
                "due": change.due_ms,
            }
        )
        for name, row in change.fibers.items():
            self.rows[change.id, name] = json.dumps(row)
        if change.outcome is not None:
            self.rows.pop((change.id, "0"), None)
        for name in change.dropped:
            if hash((change.id, name)) % 3:  # removing them is best effort
                self.rows.pop((change.id, name), None)
        return True

    def sent(self, id, version):
        self.writes += 1
        head = json.loads(self.heads[id])
        head["unsent"].pop(str(version), None)
        self.heads[id] = json.dumps(head)

    def due(self, now_ms):
        heads = {id: json.loads(text)["due"] for id, text in self.heads.items()}
        return [id for id, due in heads.items() if due is not None and due <= now_ms]


class Faults:
    """What goes wrong: by chance, or at the n-th call to the outside."""

    def __init__(  # each a number between 0 and 1, but `die_at` and `lose_first`
        self,
        seed=0,
        *,
        die_at=None,
        twice=0.0,
        twice_conductor=0.0,
        die=0.0,
        overlap=0.0,
        lose_first=0,
    ):
        self.chance = random.Random(seed)
        self.die_at, self.twice, self.die, self.lose_first = die_at, twice, die, lose_first
        self.twice_conductor, self.overlap = twice_conductor, overlap
        self.calls = 0

    def call(self):
        """A call to the outside: the process may end before it, or just after (which is before the next)."""
        number = self.calls
        self.calls += 1
        if number == self.die_at or self.chance.random() < self.die:
            raise DiedError


class Dying:
    """A port through which one may die, before or after what it does."""

    def __init__(self, port, faults):
        self._port, self._faults = port, faults

    def __getattr__(self, name):
        method = getattr(self._port, name)

        def called(*arguments):
            self._faults.call()
            result = method(*arguments)
            self._faults.call()
            return result

        return called


class Outbox:
    def __init__(self, host):
        self.host = host

    def send(self, sends):
        for send in sends:
            self.host.faults.call()
            if isinstance(send, Invocation):
                self.host.post(send, 0)
            else:
                self.host.post(send.message, send.delay_s * 1000)


class Host:
    """One bundle, deployed: messages come in order of time, or in any order by chance."""

    def __init__(self, composition, actions, *, faults=None, settings=None, others=None):
        self.faults = faults or Faults()
        self.clock, self.table = Clock(), Table()
        self.actions = {f"/_/{name}": fake for name, fake in actions.items()}
        self._settings, self._others = settings or {}, others or {}
        self.deploy(composition)
        self.invocations, self.keys = [], {}
        self._queue, self._order = [], itertools.count()
        self._swept_ms = START_MS

    @property
    def queue(self):
        return self._queue

    def deploy(self, composition):
        """Puts another bundle in the place of the one before; what it has begun goes on."""
        compositions = {"main": composition, **self._others}
        programs = {f"/_/{name}": compile(part) for name, part in compositions.items()}
        self.program = programs["/_/main"]
        document = {
            "programs": {name: program.to_json() for name, program in programs.items()},
            "actions": {n: self._settings.get(n.removeprefix("/_/"), {}) for n in self.actions},
        }
        self.deployed = Deployed.from_json(json.loads(json.dumps(document)))

    def executions(self):
        """The ids in the table, but those of programs."""
        return {id for id in self.table.heads if self.look(id) is not None}

    # --- the world ---------------------------------------------------------------------------

    def conductor(self):
        """A conductor as it starts in a new process."""
        return Conductor(self.deployed, Dying(self.table, self.faults), Outbox(self), self.clock)

    def post(self, message, delay_ms):
        message = message if isinstance(message, Invocation) else json.loads(json.dumps(message))
        chance = self.faults.twice
        if not isinstance(message, Invocation):
            chance = chance or self.faults.twice_conductor
        times = 2 if self.faults.chance.random() < chance else 1
        for _ in range(times):
            late = self.faults.chance.choice((0, 0, 5, 70, 900)) if self.faults.twice else 0
            at = self.clock.ms + delay_ms + late
            heapq.heappush(self._queue, (at, next(self._order), message))

    def begin(self, params=None):
        while not self.begin_once(params):
            self.clock.ms += VISIBILITY_MS  # the caller asks again, with the same key
        return self

    def begin_once(self, params=None):
        try:
            self.conductor().begin(ID, "/_/main", {} if params is None else params)
        except (DiedError, LaterError):
            return False
        return True

    def run(self, params=None, *, until_s=30 * 24 * 3600):
        """Follows it until nothing is left to happen. Its outcome as `look` shows it."""
        self.begin(params)
        return self.follow(until_s=until_s)

    def follow(self, *, until_s=30 * 24 * 3600):
        while self.clock.ms < START_MS + until_s * 1000:
            due = [json.loads(text)["due"] for text in self.table.heads.values()]
            sweep = min((at for at in due if at is not None), default=None)
            if sweep is not None:
                sweep = max(sweep, self._swept_ms + 60_000)
            if self._queue and (sweep is None or self._queue[0][0] <= sweep):
                at, _, message = heapq.heappop(self._queue)
                self.clock.ms = max(self.clock.ms, at)
                self._deal(message)
            elif sweep is not None:
                self.clock.ms = self._swept_ms = max(self.clock.ms, sweep)
                self._try(lambda: self.conductor().sweep(), None)
            else:
                break
        return self.look()

    def look(self, id=ID):
        faults, self.faults = self.faults, Faults()
        try:
            return self.conductor().look(id)
        finally:
            self.faults = faults

    def _deal(self, message):
        if self.faults.chance.random() < self.faults.overlap:
            self.table.meanwhile = [self._deal_next]
        if isinstance(message, Invocation):
            self._invoke(message)
        else:
            self._try(lambda: self.conductor().receive(message), message)

    def _deal_next(self):
        """Another process deals with what has come meanwhile."""
        if self._queue and self._queue[0][0] <= self.clock.ms:
            self._deal(heapq.heappop(self._queue)[2])

    def _try(self, act, message):
        try:
            act()
        except (DiedError, LaterError):
            if message is not None:
                at = self.clock.ms + VISIBILITY_MS
                heapq.heappush(self._queue, (at, next(self._order), message))

    # --- actions -----------------------------------------------------------------------------

    def _invoke(self, invocation):
        message = json.loads(json.dumps(invocation.message))
        self.invocations.append((invocation.action.removeprefix("/_/"), message["params"]))
        self.keys.setdefault(message["key"], []).append(invocation.action)
        if len(self.invocations) <= self.faults.lose_first:
            return
        fake = self.actions[invocation.action]
        if fake is not None:  # else there is never an answer
            answer = self._answer(fake, message)
            self.post(answer, 1000 * delay_s(answer))

    @staticmethod
    def _answer(fake, message):
        """A plain function answers through a wrapper, one of `composer.testing` as it says, an action as it is."""
        if hasattr(fake, "run"):
            return fake.run(message)
        if isinstance(fake, FunctionType):
            wrapped = Wrapped.of_source("action", "", "main")
            wrapped._function = fake
            return wrapped.run(message)
        answer = fake(message["params"])
        if isinstance(answer, Fail):
            return completed(message, {"code": answer.code, "error": answer.error})
        return completed(message, {"value": answer})

    def answers(self):
        """The messages that are under way to the conductor, once all actions have run. They are taken out."""
        while asked := [item for item in self._queue if isinstance(item[2], Invocation)]:
            for item in asked:
                self._queue.remove(item)
                self._invoke(item[2])
        found = [message for _, _, message in sorted(self._queue)]
        self._queue.clear()
        return found

    def calls(self, action):
        return [params for name, params in self.invocations if name == action]


def result(seen):
    """The outcome that `look` shows: status and result."""
    return seen["status"], seen.get("result")


def expected(outcome):
    """The same of an outcome of `composer.testing`."""
    if isinstance(outcome, Failure):
        status = "cancelled" if outcome.code == "Cancelled" else "failed"
        return status, {"error": outcome.error}
    return "succeeded", outcome.value
