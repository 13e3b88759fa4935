"""A participant that is told messages, and what has come of each."""

from __future__ import annotations

from xingqiao.composer import Failure, Success
from xingqiao.transactions import (
    Answer,
    Participant,
    Perform,
    Request,
    Row,
    Save,
    parsed,
)

NOW = 1_000
DEADLINE = 11_000
LOOK = {"operation": "look", "read": True}


class Entity:
    """A participant, its clock, and what has come of each request."""

    def __init__(self, state=None, settings=None, row=None, **kept):
        row = row or (Row(state, 1) if state is not None else None)
        self.one = Participant(row, settings=settings, **kept)
        self.now, self.answers, self.writes, self.running, self.other = NOW, {}, [], [], []

    def tell(self, id, /, *, once=True, **message):
        message.setdefault("key", "k")
        self.follow(self.one.receive(Request(id, parsed(message), once), self.now))
        return self

    def follow(self, effects):
        for effect in effects:
            match effect:
                case Perform():
                    self.running.append(effect)
                case Answer():
                    assert effect.request.id not in self.answers
                    self.answers[effect.request.id] = effect.outcome
                    self.writes.append((effect.request.id, effect.writes))
                case Save():
                    self.writes.append((None, effect.writes))
                case _:
                    self.other.append(effect)

    def run(self, **answers):
        """Runs what is to be run: `add` adds, `look` looks, `fail` fails; or as the answers say."""
        while self.running:
            effect = self.running.pop(0)
            answer = answers.get(effect.operation) or operate(effect)
            self.follow(self.one.performed(answer, self.now))
        return self

    def do(self, id, /, **message):
        return self.tell(id, **message).run()

    def written(self, id):
        return next(writes for request, writes in self.writes if request == id)

    def told(self, id):
        outcome = self.answers[id]
        return outcome.value if isinstance(outcome, Success) else outcome.code


def operate(effect):
    total = effect.state or 0
    match effect.operation:
        case "add":
            total += effect.params["n"]
            return Success({"state": total, "result": {"total": total}})
        case "look":
            return Success({"result": {"total": total}})
        case "same":
            return Success({"state": effect.state})
        case "upgrade":
            return Success({"state": total * 10})
        case _:
            return Failure("ApplicationError", "no")


def add(n):
    return {"operation": "add", "params": {"n": n}}


def of(id, kind, number=0, **about):
    about = {"deadline": DEADLINE, "started": 5, **about}
    return {"transaction": {"id": id, "kind": kind, "number": number, **about}}
