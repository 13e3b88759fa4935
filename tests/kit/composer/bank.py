"""A bank of entities for transactions: it answers every message as an entity does."""

from __future__ import annotations

from xingqiao import composer as c
from xingqiao.composer import Failure, Success, call, path, transaction
from xingqiao.composer.testing import Never
from xingqiao.transactions import Answer, Participant, Perform, Request, Row, key_of, parsed

ACCOUNT = "/_/account"


class Bank:
    """An entity type, as a fake: participants that answer at once."""

    def __init__(self, **balances):
        self.entities = {key: Participant(Row(balance)) for key, balance in balances.items()}
        self.messages = []
        self.answers = {}

    def __call__(self, params):
        key, now_ms = key_of(params), 0
        about = params.get("transaction")
        self.messages.append((key, about["kind"] if about else params["operation"]))
        entity = self.entities.setdefault(key, Participant())
        effects = entity.receive(Request(f"{len(self.messages)}", parsed(params)), now_ms)
        while effects and isinstance(effects[0], Perform):
            effects = entity.performed(self.operate(effects[0]), now_ms)
        found = [effect for effect in effects if isinstance(effect, Answer)]
        if not found:
            return Never()
        return found[0].outcome

    @staticmethod
    def operate(effect):
        balance, amount = effect.state or 0, effect.params.get("amount", 0)
        match effect.operation:
            case "withdraw" if balance < amount:
                return Failure("ApplicationError", "insufficient funds")
            case "withdraw":
                return Success({"state": balance - amount, "result": {"balance": balance - amount}})
            case "deposit":
                return Success({"state": balance + amount, "result": {"balance": balance + amount}})
            case _:
                return Success({"result": {"balance": balance}})

    @property
    def balances(self):
        return {key: entity.row.state for key, entity in self.entities.items()}

    @property
    def at_rest(self):
        return all(entity.idle and entity.prepared is None for entity in self.entities.values())


def move(operation, key, amount=30):
    return call("account", key, operation, {"amount": amount})


def look(key):
    return call("account", key, "look", {}, read=True)


TRANSFER = transaction(move("deposit", "b"), move("withdraw", "a"))
SWEEP = transaction(
    c.let(
        {"all": 0},
        c.read("account", "a"),
        c.assign(all=path("$.state")),
        call("account", "a", "withdraw", {"amount": c.var("all")}),
        call("account", "b", "deposit", {"amount": c.var("all")}),
    )
)
