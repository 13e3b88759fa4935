"""The structure of a definition: machines, their states, and the parts of states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....freezing import changed
from ..resources import integration, is_activity
from . import schema
from .choice_rules import check_choices
from .diagnostic import hashed
from .embedded import (
    MAX_NAME,
    MAX_STEP,
    check_expression,
    check_template,
    check_value,
    is_expression,
    looks_dynamic,
)
from .shapes import check_array, check_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....values import JSON
    from .diagnostic import Check, Language
    from .schema import Shape
    from .shapes import Structure

MAX_LABEL = 40  # characters
LABEL_FLAW = "Label contains invalid character: "
_NOT_IN_LABELS = frozenset('?*<>{}[]:;,\\|^~$#%&`"')
_RESULTS = ("Task", "Parallel", "Map")


def check_machine(check: Check, definition: JSON) -> None:
    """Checks a whole definition, from its root."""
    check_shape(check, definition, schema.MACHINE, "", STRUCTURES)


def language_of(thing: Mapping[str, Any], inherited: Language) -> Language:
    """The query language of a machine or state: JSONata for any value but JSONPath; `inherited` if it has none.

    AWS reads a value that it refuses in the same way.
    """
    if "QueryLanguage" not in thing:
        return inherited
    return "JSONPath" if thing["QueryLanguage"] == "JSONPath" else "JSONata"


def _check_states(check: Check, value: JSON, at: str) -> None:
    if not isinstance(value, dict):
        check.error("Expected value of type Object", at)
    elif not value:
        check.error("Value cannot be empty", at)
    else:
        for name, state in value.items():
            where = f"{at}/{name[:MAX_STEP]}"
            if len(name) > MAX_NAME:
                message = f"State name '{name}' exceeds the {MAX_NAME}-character limit"
                check.error(f"{message} allowed by the service", where, "INVALID_STATE_NAME")
            else:
                check_state(check, state, where)


def check_state(check: Check, state: JSON, at: str) -> None:
    """Checks one state. Nested machines have the query language of the machine, not of the state."""
    if not isinstance(state, dict):
        check.error("Expected value of type Object", at)
        return
    kind = state.get("Type")
    if "Type" not in state:
        check.error("These fields are required: [Type]", at)
    elif not isinstance(kind, str):
        check.error("Expected value of type [STRING]", f"{at}/Type")
    elif kind not in schema.STATES:
        listed = ", ".join(schema.STATES)
        check.error(f"Value should be one of the following: [{listed}]", f"{at}/Type")
    else:
        language = language_of(state, check.machine)
        outcome = frozenset({"result"} if kind in _RESULTS else ())
        _check_kind(changed(check, language=language, outcome=outcome), state, kind, at)


def _check_kind(check: Check, state: dict[str, JSON], kind: str, at: str) -> None:
    if check.machine == "JSONata" and check.language == "JSONPath":
        check.error(
            "'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine", at
        )
    check_shape(check, state, schema.STATES[kind], at, STRUCTURES)
    if kind == "Task":
        _check_task(check, state, at)
    elif kind == "Map":
        _check_mode(check, state, at)
    elif kind == "Pass" and _looks_dynamic(state.get("Result")):
        message = "The Result of a Pass state is static: its paths are not evaluated"
        check.warning("PASS_RESULT_IS_STATIC", message, f"{at}/Result")


def _looks_dynamic(value: JSON) -> bool:
    if isinstance(value, dict):
        return any(name.endswith(".$") or _looks_dynamic(value[name]) for name in value)
    if isinstance(value, list):
        return any(map(_looks_dynamic, value))
    return isinstance(value, str) and looks_dynamic(value)


def _check_task(check: Check, state: dict[str, JSON], at: str) -> None:
    resource = state.get("Resource")
    if "Credentials" in state and isinstance(resource, str) and is_activity(resource):
        message = "The field 'Credentials' is not supported for activities"
        check.error(message, f"{at}/Credentials")
    heartbeat, timeout = state.get("HeartbeatSeconds"), state.get("TimeoutSeconds")
    if isinstance(heartbeat, int) and isinstance(timeout, int) and heartbeat >= timeout:
        message = "HeartbeatSeconds must be less than TimeoutSeconds"
        check.error(message, f"{at}/HeartbeatSeconds")


def is_distributed(state: dict[str, JSON]) -> bool:
    """True if a Map state runs each item as an execution of its own."""
    processor = state.get("ItemProcessor", state.get("Iterator"))
    config = processor.get("ProcessorConfig") if isinstance(processor, dict) else None
    return isinstance(config, dict) and config.get("Mode") == "DISTRIBUTED"


def _check_mode(check: Check, state: dict[str, JSON], at: str) -> None:
    if is_distributed(state):
        if check.type == "EXPRESS":
            check.error("Express state machine does not support DISTRIBUTED mode", at)
        return
    for name in schema.DISTRIBUTED_FIELDS:
        if name in state:
            check.error(f"Field '{name}' is not supported", at)


# --- nested machines -----------------------------------------------------------------------------


def _check_processor(check: Check, value: JSON, at: str) -> None:
    config = value.get("ProcessorConfig") if isinstance(value, dict) else None
    children = config.get("ExecutionType") if isinstance(config, dict) else None
    kind = "EXPRESS" if children == "EXPRESS" else check.type
    check_shape(_nested(changed(check, type=kind)), value, schema.PROCESSOR, at, STRUCTURES)


def _check_branches(check: Check, value: JSON, at: str) -> None:
    for index, branch in enumerate(check_array(check, value, at, empty=False)):
        check_shape(_nested(check), branch, schema.BRANCH, f"{at}[{index}]", STRUCTURES)


def _nested(check: Check) -> Check:
    nested: Check = changed(check, language=check.machine)
    return nested


def _check_config(check: Check, value: JSON, at: str) -> None:
    mode = value.get("Mode") if isinstance(value, dict) else None
    shape = schema.PROCESSOR_CONFIG["DISTRIBUTED" if mode == "DISTRIBUTED" else "INLINE"]
    check_shape(check, value, shape, at, STRUCTURES)


def _check_label(check: Check, value: JSON, at: str) -> None:
    if not isinstance(value, str):
        check.error("Expected value of type [STRING]", at)
    elif not value:
        check.error("Label cannot be empty", at, "INVALID_LABEL_NAME")
    elif len(value) > MAX_LABEL:
        message = f"Label '{value}' exceeds the {MAX_LABEL}-character limit allowed by the service"
        check.error(message, at, "INVALID_LABEL_NAME")
    elif wrong := [c for c in value if c in _NOT_IN_LABELS or c.isspace() or _is_control(c)]:
        check.error(f"{LABEL_FLAW}{wrong[0]!r}", at, "INVALID_LABEL_NAME")


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f"


# --- handlers ------------------------------------------------------------------------------------


def _check_retriers(check: Check, value: JSON, at: str) -> None:
    _check_handlers(check, value, schema.RETRIER, at)


def _check_catchers(check: Check, value: JSON, at: str) -> None:
    _check_handlers(changed(check, outcome=frozenset({"errorOutput"})), value, schema.CATCHER, at)


def _check_handlers(check: Check, value: JSON, shape: Shape, at: str) -> None:
    handlers = check_array(check, value, at, empty=True)
    for index, handler in enumerate(handlers):
        where = f"{at}[{index}]"
        fields = check_shape(check, handler, shape, where, STRUCTURES)
        if fields is not None:
            named = fields.get("ErrorEquals")
            alone = named == ["States.ALL"] and index == len(handlers) - 1
            if isinstance(named, list) and "States.ALL" in named and not alone:
                message = "States.ALL must appear alone and at end of list"
                check.error(message, f"{where}/ErrorEquals")


def _check_errors(check: Check, value: JSON, at: str) -> None:
    _check_strings(check, check_array(check, value, at, empty=False), at)


def _check_strings(check: Check, value: JSON, at: str) -> None:
    for index, member in enumerate(check_array(check, value, at, empty=True)):
        if not isinstance(member, str):
            check.error("Expected value of type [STRING]", f"{at}[{index}]")


# --- parts of Task and Map -----------------------------------------------------------------------


def _check_credentials(check: Check, value: JSON, at: str) -> None:
    # AWS does not check JSONata in it before it is evaluated.
    if check.language == "JSONata" and is_expression(value):
        return
    if not isinstance(value, dict):
        check.error("Expected value of type Object", at)
    elif not ("RoleArn" in value or (check.language == "JSONPath" and "RoleArn.$" in value)):
        # AWS reports nothing more about an object without it.
        check.error("The field 'RoleArn' is required but was missing", at)
    elif check.language == "JSONPath":
        check_template(check, value, at)


def _check_items(check: Check, value: JSON, at: str) -> None:
    if isinstance(value, str):
        check_expression(check, value, at)
    elif isinstance(value, (dict, list)):
        check_value(check, value, at)
    else:
        check.error("Expected value of type Array", at)


def _check_batcher(check: Check, value: JSON, at: str) -> None:
    check_shape(check, value, schema.BATCHER, at, STRUCTURES)


def _check_reader(check: Check, value: JSON, at: str) -> None:
    reader = check_shape(check, value, schema.READER, at, STRUCTURES)
    if reader is not None:
        _check_storage(check, reader, schema.READER_RESOURCES, at)


def _check_storage(check: Check, value: dict[str, JSON], allowed: tuple[str, ...], at: str) -> None:
    resource = value.get("Resource")
    if not isinstance(resource, str):
        return
    service = integration(resource)
    if service is None or f"{service.service}:{service.operation}{service.pattern}" not in allowed:
        examples = ", ".join(f"arn:<partition>:states:::{name}" for name in allowed)
        message = "The field 'Resource' does not match any of the allowed values. Examples:"
        check.error(f"{message} [{examples}]", f"{at}/Resource")


def _check_reader_config(check: Check, value: JSON, at: str) -> None:
    given = value if isinstance(value, dict) else {}
    shape = schema.READER_CONFIG
    if given.get("InputType") in ("CSV", None):
        required = ("CSVHeaders",) if given.get("CSVHeaderLocation") == "GIVEN" else ()
        shape = changed(shape, fields=shape.fields | schema.CSV_FIELDS, required=required)
    check_shape(check, value, shape, at, STRUCTURES)
    if given.get("InputType") == "CSV" and "CSVHeaderLocation" not in given:
        check.error("The field 'CSVHeaderLocation' is required but was missing", at)


def _check_writer(check: Check, value: JSON, at: str) -> None:
    writer = check_shape(check, value, schema.WRITER, at, STRUCTURES)
    if writer is not None:
        _check_storage(check, writer, schema.WRITER_RESOURCES, at)
        arguments = "Parameters" if check.language == "JSONPath" else "Arguments"
        together = {"Resource", arguments}
        if not writer:
            check.error("Value cannot be empty", at)
        elif len(together & set(writer)) == 1:
            check.error(f"These fields are required: {hashed(together - set(writer))}", at)


def _check_writer_config(check: Check, value: JSON, at: str) -> None:
    check_shape(check, value, schema.WRITER_CONFIG, at, STRUCTURES)


STRUCTURES: dict[str, Structure] = {
    "batcher": _check_batcher,
    "catchers": _check_catchers,
    "choices": lambda check, value, at: check_choices(check, value, at, STRUCTURES),
    "config": _check_config,
    "credentials": _check_credentials,
    "errors": _check_errors,
    "items": _check_items,
    "label": _check_label,
    "machine": _check_processor,
    "machines": _check_branches,
    "reader": _check_reader,
    "reader config": _check_reader_config,
    "retriers": _check_retriers,
    "states": _check_states,
    "strings": _check_strings,
    "writer": _check_writer,
    "writer config": _check_writer_config,
}
