"""Makes or changes an action, a package, a trigger or a rule from the body of a PUT.

Missing fields stay as they were; annotations are merged, and `delAnnotations` removes some; the patch
version goes up. Every function raises `InvalidError`, naming the field that is malformed, and
`TooLargeError` for code, parameters or annotations over their limit.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..composer import InvalidNameError, Name, flaw, read_event_filter
from . import limits, timeouts
from .coded import Code
from .composed import Composed
from .conditions import read_assignment, read_condition, read_context, refusing
from .entities import ENTITY, entity_settings
from .errors import InvalidError, TooLargeError
from .executables import KINDS, parsed_exec, row_of
from .limits import Limits
from .model import COMPONENTS, INITIAL, Action, Package, Rule, Trigger
from .parameters import parsed
from .queued import Queued
from .remotes import Remote
from .unknown_fields import refuse_mistakes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..composer import JSON
    from .model import Definition, Named

MAX_PARAMETER_BYTES = 1 << 20
COMMON = (  # the first are shown by a GET, and sent back by clients; `error` and `code` are of wsk
    "namespace", "name", "version", "updated", "publish", "annotations", "delAnnotations",
    "parameters", "error", "code",
)  # fmt: skip
ACTION = (*COMMON, "exec", "limits")
PLACES = {name: f"limits.{name}" for name in limits.BOUNDS} | {"kind": "exec.kind"}
PACKAGE = (*COMMON, "binding", "actions", "feeds")
TRIGGER = (*COMMON, "filter", "limits", "rules", "activationId")
RULE = (
    *COMMON, "trigger", "action", "status", "condition", "context", "assign", "transient", "remembers",
)  # fmt: skip
RESERVED = "default"  # stands for no package in the paths of web actions

_VERSION = re.compile(r"([0-9]{1,9}\.){2}[0-9]{1,9}")


def define_action(
    name: Name, doc: JSON, before: Action | None, now_ms: int, kinds: Collection[str] = KINDS
) -> Action:
    """The action that a document defines. If it is not a composition, its kind must be among `kinds`."""
    body = _object(doc, ACTION)
    fields = _fields(name, body, before, now_ms)
    if body.get("exec") is None and before is None:
        raise InvalidError("The request content was malformed:\nexec undefined")
    execution = before.exec if before else None
    if body.get("exec") is not None:
        execution = parsed_exec(body["exec"], name.namespace, kinds)
    assert execution is not None  # noqa: S101  one of the two is there
    fields["parameters"].pop(COMPONENTS, None)
    if before is None:
        fields["annotations"].setdefault("provide-api-key", False)
    fields["annotations"]["exec"] = execution.kind
    timeouts.check_annotations(fields["annotations"])
    if entity_settings(fields["annotations"].get(ENTITY)) and isinstance(
        execution, (Composed, Queued, Remote)
    ):
        raise InvalidError(
            "The request content was malformed:\n"
            "an entity is code: a sequence or composition may call one, and cannot be one, nor can a "
            "function elsewhere or a task of a queue"
        )
    longest_ms = row_of(execution.kind).longest_ms or limits.BOUNDS["timeout"][2]
    limited = limits.changed(body.get("limits"), before.limits if before else Limits(), longest_ms)
    if limited.timeout_ms > longest_ms:  # the kind has changed, and the timeout has not
        raise InvalidError(
            f"timeout {limited.timeout_ms} milliseconds exceeds allowed threshold of {longest_ms} "
            f"milliseconds for '{execution.kind}': give 'limits.timeout', too"
        )
    if limited.waits and (
        not isinstance(execution, Code) or entity_settings(fields["annotations"].get(ENTITY))
    ):
        raise InvalidError(
            "The request content was malformed:\n"
            "'limits.concurrent' and 'limits.per_minute' are for actions with code that are no entities: give those of "
            "a queue in 'exec', and put the call of any other action into a 'limit'"
        )
    return Action(**fields, exec=execution, limits=limited)


def define_package(name: Name, doc: JSON, before: Package | None, now_ms: int) -> Package:
    """The package, or the binding, that a document defines."""
    if name.name == RESERVED:
        raise InvalidError(f"Package name '{RESERVED}' is reserved.")
    body = _object(doc, PACKAGE)
    fields = _fields(name, body, before, now_ms)
    binding = before.binding if before else None
    bound = body.get("binding")
    if bound:
        binding = _bound(bound, name.namespace)
    return Package(**fields, binding=binding)


def _bound(doc: JSON, namespace: str) -> Name:
    if not isinstance(doc, dict):
        raise InvalidError("The request content was malformed:\n'binding' must be an object")
    return _reference(f"/{doc.get('namespace') or '_'}/{doc.get('name')}", "binding", namespace)


def define_trigger(name: Name, doc: JSON, before: Trigger | None, now_ms: int) -> Trigger:
    """The trigger that a document defines. A filter that is null is removed."""
    body = _object(doc, TRIGGER)
    filter = before.filter if before else None
    if "filter" in body:
        with refusing():
            filter = None if body["filter"] is None else read_event_filter(body["filter"])
    trigger = Trigger(**_fields(name, body, before, now_ms), filter=filter)
    feed: Any = trigger.annotations.get("feed")
    if feed is not None:
        try:
            Name.parse(feed)
        except InvalidNameError:
            raise InvalidError("Feed name is not valid") from None
    return trigger


def define_rule(name: Name, doc: JSON, before: Rule | None, now_ms: int) -> Rule:
    """The rule that a document defines. The catalog checks that its trigger and action exist.

    A condition, context or assignment that is null is removed.
    """
    body = _object(doc, RULE)
    fields = {**_fields(name, body, before, now_ms), **_memory(body)}
    links: dict[str, Any] = {}
    for link in ("trigger", "action"):
        if body.get(link) is not None:
            links[link] = _reference(_spelled(body[link]), link, name.namespace)
    if before is not None:
        return replace(before, **fields, **links)
    if len(links) < 2:  # noqa: PLR2004  a trigger and an action
        raise InvalidError("rule requires a valid trigger and a valid action")
    return Rule(**fields, **links)


def _memory(body: dict[str, Any]) -> dict[str, Any]:
    """The members of a rule's body that concern its condition and its memory."""
    said: dict[str, Any] = {}
    if "condition" in body:
        said["condition"] = None if body["condition"] is None else read_condition(body["condition"])
    if "context" in body:
        said["context"] = {} if body["context"] is None else read_context(body["context"])
    if "assign" in body:
        said["assign"] = None if body["assign"] is None else read_assignment(body["assign"])
    transient = body.get("transient")
    if transient is not None:
        if not isinstance(transient, bool):
            raise InvalidError(
                "The request content was malformed:\n'transient' must be true or false"
            )
        said["transient"] = transient
    return said


def _spelled(doc: JSON) -> JSON:
    """Reads a reference: a name, or the form in which it is shown: `{"path": ..., "name": ...}`."""
    if isinstance(doc, dict):
        return f"/{doc.get('path')}/{doc.get('name')}"
    return doc


def _reference(text: Any, field: str, namespace: str) -> Name:
    try:
        return Name.parse(text).within(namespace)
    except InvalidNameError as error:
        raise InvalidError(f"The request content was malformed:\n'{field}': {error}") from error


# --- common fields -----------------------------------------------------------------------------


def _object(doc: JSON, known: Sequence[str]) -> dict[str, Any]:
    """The body, whose members are checked one by one."""
    if not isinstance(doc, dict):
        raise InvalidError("The request content was malformed:\nthe body must be an object")
    refuse_mistakes(doc, known, places=PLACES if known is ACTION else None)
    return doc


def _fields(
    name: Name, doc: dict[str, Any], before: Definition | None, now_ms: int
) -> dict[str, Any]:
    parameters = before.parameters if before else {}
    if doc.get("parameters") is not None:
        parameters = _values("parameters", doc["parameters"])
    return {
        "name": name,
        "parameters": parameters,
        "annotations": _annotations(doc, before),
        "version": _next(before.version) if before else _version(doc),
        "publish": _publish(doc.get("publish"), before),
        "updated_ms": now_ms,
    }


def _annotations(doc: dict[str, Any], before: Named | None) -> dict[str, JSON]:
    annotations = dict(before.annotations) if before is not None else {}
    annotations.update(_values("annotations", doc.get("annotations")))
    gone = doc.get("delAnnotations")
    if gone is None:
        gone = []
    if not isinstance(gone, list) or not all(isinstance(key, str) for key in gone):
        raise InvalidError(
            "The request content was malformed:\n'delAnnotations' must be a list of strings"
        )
    for key in gone:
        annotations.pop(key, None)
    return annotations


def _values(field: str, doc: JSON) -> dict[str, JSON]:
    """Parameters or annotations, within bounds."""
    values = parsed(field, doc)
    if why := flaw(doc):
        raise InvalidError(
            f"The request content was malformed:\n'{field}' is not a JSON value: {why}"
        )
    size = len(json.dumps(values, ensure_ascii=False).encode())
    if size > MAX_PARAMETER_BYTES:
        raise TooLargeError(
            f"{field.capitalize()} larger than allowed: {size} > {MAX_PARAMETER_BYTES} bytes."
        )
    return values


def _publish(publish: JSON, before: Named | None) -> bool:
    if publish is None:
        return before.publish if before else False
    if not isinstance(publish, bool):
        raise InvalidError("The request content was malformed:\n'publish' must be true or false")
    return publish


def _version(doc: dict[str, Any]) -> str:
    version = doc.get("version")
    if version is None:
        return INITIAL
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise InvalidError(
            "The request content was malformed:\n"
            f"'version' must be like {INITIAL}, not {version!r:.100}"
        )
    return version


def _next(version: str) -> str:
    major, minor, patch = version.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"
