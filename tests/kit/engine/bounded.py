"""Namespaces with bounds, and actions of another namespace."""

from __future__ import annotations

from tests.kit.engine.engines import CODE, GUEST
from xingqiao.actions import Action, Call, Quotas
from xingqiao.composer import Name
from xingqiao.infra.engine import EngineSettings


def bounded(live=None, descendants=None):
    return EngineSettings(quotas=lambda _: Quotas(live=live, descendants=descendants))


def usage(made, namespace=GUEST):
    return made.engine._parts.used(namespace).live


async def of_another(made):
    """What another namespace is answered, which invokes an action of its own."""
    name = Name("other", None, "a")
    await made.engine.registry.put(Action, name, CODE, overwrite=True)
    call = Call(name=name, params={}, namespace="other")
    return (await made.engine.invoke(call, wait_s=20)).ended.outcome.value


EXPRESS = [{"key": "express", "value": True}]


def document(composition, annotations=()):
    return {
        "exec": {"kind": "composition", "composition": composition.to_json()},
        "annotations": [*annotations],
    }
