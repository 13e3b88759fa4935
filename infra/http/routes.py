"""The routes: OpenWhisk's paths, and our own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from . import (
    actions,
    activations,
    attributes,
    audit,
    batches,
    clouds,
    completions,
    dead_letters,
    definitions,
    deployments,
    entities,
    events,
    executions,
    keys,
    limits,
    messages,
    namespaces,
    queries,
    queues,
    resets,
    sagas,
    schedules,
    service,
    triggers,
    updates,
    web,
    webhooks,
)

if TYPE_CHECKING:
    from .wings import Endpoint, Route

ANY = "*"  # any method
API = "/api/v1"
WEB = API + "/web/"
NAMESPACED = API + "/namespaces/{namespace}"
_ACTION = NAMESPACED + "/actions/{name:path}"
_EXECUTION = NAMESPACED + "/executions/{id}"
_ACTIVATION = NAMESPACED + "/activations/{id}"
_LETTER = NAMESPACED + "/dead-letters/{id}"
_SCHEDULE = NAMESPACED + "/schedules/{name}"
_BATCH = NAMESPACED + "/batches/{id}"
_QUEUE = NAMESPACED + "/queues/{name}"
_LIMIT = NAMESPACED + "/limits/{name}"
_OPERATED = API + "/operator/namespaces"

_COLLECTIONS: list[Route] = [
    (method, f"{NAMESPACED}/{collection.name}{path}", partial(endpoint, collection))
    for collection in definitions.COLLECTIONS
    for method, path, endpoint in (
        ("GET", "", definitions.list_definitions),
        ("GET", "/", definitions.list_definitions),
        ("GET", "/{name:path}", definitions.get_definition),
        ("PUT", "/{name:path}", definitions.put_definition),
        ("DELETE", "/{name:path}", definitions.delete_definition),
    )
]

_ENTITIES: list[Route] = [
    (method, f"{NAMESPACED}/entities/{type}/keys{key}", endpoint)
    for type in ("{type}", "{package}/{type}")
    for method, key, endpoint in (
        ("GET", "", entities.list_keys),
        ("GET", "/{key:path}", entities.get_entity),
        ("POST", "/{key:path}", entities.call_entity),
        ("DELETE", "/{key:path}", entities.delete_entity),
    )
]

OPERATED: tuple[Endpoint, ...] = (  # requests that a paused server serves, besides GET
    executions.cancel_execution,
    namespaces.put,
    service.resume,
)

ROUTES: list[Route] = [
    ("POST", _ACTION, actions.invoke_action),
    ("POST", NAMESPACED + "/triggers/{name}", triggers.fire_trigger),
    ("POST", NAMESPACED + "/events", events.send_events),
    ("GET", NAMESPACED + "/events/{key}", events.get_event),
    ("POST", NAMESPACED + "/rules/{name}", definitions.set_rule_status),
    ("GET", NAMESPACED + "/activations", activations.list_activations),
    ("GET", _ACTIVATION, activations.get_activation),
    ("DELETE", _ACTIVATION, activations.cancel_activation),
    ("GET", _ACTIVATION + "/result", activations.get_result),
    ("GET", _ACTIVATION + "/logs", activations.get_logs),
    ("GET", NAMESPACED + "/logs", activations.follow_logs),
    ("GET", NAMESPACED + "/executions", executions.list_executions),
    ("GET", NAMESPACED + "/executions/count", attributes.count_executions),
    ("GET", _EXECUTION, executions.get_execution),
    ("GET", _EXECUTION + "/history", executions.get_history),
    ("GET", _EXECUTION + "/cost", executions.get_cost),
    ("POST", _EXECUTION + "/cancel", executions.cancel_execution),
    ("POST", _EXECUTION + "/pause", executions.pause_execution),
    ("POST", _EXECUTION + "/resume", executions.resume_execution),
    ("POST", _EXECUTION + "/redrive", executions.redrive_execution),
    ("POST", _EXECUTION + "/reset", resets.reset_execution),
    ("POST", _EXECUTION + "/fork", resets.fork_execution),
    ("POST", _EXECUTION + "/answer", executions.answer_step),
    ("GET", _EXECUTION + "/queries", queries.list_queries),
    ("GET", _EXECUTION + "/queries/{name}", queries.ask_query),
    ("POST", _EXECUTION + "/updates/{name}", updates.update_execution),
    ("GET", _EXECUTION + "/updates/{name}/{update}", updates.get_update),
    ("GET", _EXECUTION + "/messages", messages.list_messages),
    ("POST", _EXECUTION + "/messages/{name}", messages.tell),
    ("POST", _EXECUTION + "/annotate", attributes.annotate_execution),
    ("GET", NAMESPACED + "/attributes", attributes.list_attributes),
    ("GET", NAMESPACED + "/attributes/{name}", attributes.get_attribute),
    ("PUT", NAMESPACED + "/attributes/{name}", attributes.put_attribute),
    ("DELETE", NAMESPACED + "/attributes/{name}", attributes.delete_attribute),
    ("GET", NAMESPACED + "/entities", entities.list_types),
    *_ENTITIES,
    ("GET", NAMESPACED + "/dead-letters", dead_letters.list_letters),
    ("GET", _LETTER, dead_letters.get_letter),
    ("DELETE", _LETTER, dead_letters.delete_letter),
    ("POST", _LETTER + "/retry", dead_letters.retry_letter),
    ("GET", NAMESPACED + "/waiting-limits", limits.list_limits),  # `limits` are OpenWhisk's quotas
    ("GET", _LIMIT, limits.get_limit),
    ("PUT", _LIMIT, limits.put_limit),
    ("DELETE", _LIMIT, limits.delete_limit),
    ("GET", NAMESPACED + "/queues", queues.list_queues),
    ("GET", _QUEUE, queues.get_queue),
    ("PUT", _QUEUE, queues.put_queue),
    ("DELETE", _QUEUE, queues.delete_queue),
    ("POST", _QUEUE + "/take", queues.take),
    ("DELETE", _QUEUE + "/workers/{worker}", queues.leave),
    ("GET", NAMESPACED + "/sagas", sagas.list_sagas),
    ("GET", NAMESPACED + "/sagas/{id}", sagas.get_saga),
    ("POST", NAMESPACED + "/sagas/{id}", sagas.resolve_saga),
    ("GET", NAMESPACED + "/transactions", sagas.list_transactions),
    ("POST", NAMESPACED + "/transactions/{id:path}", sagas.decide_transaction),
    ("DELETE", NAMESPACED + "/transactions/{id:path}", sagas.forget_transaction),
    ("GET", NAMESPACED + "/schedules", schedules.list_schedules),
    ("GET", _SCHEDULE, schedules.get_schedule),
    ("PUT", _SCHEDULE, schedules.put_schedule),
    ("DELETE", _SCHEDULE, schedules.delete_schedule),
    ("POST", _SCHEDULE + "/pause", schedules.pause_schedule),
    ("POST", _SCHEDULE + "/resume", schedules.resume_schedule),
    ("POST", _SCHEDULE + "/trigger", schedules.trigger_schedule),
    ("POST", _SCHEDULE + "/backfill", schedules.backfill_schedule),
    ("GET", NAMESPACED + "/batches", batches.list_batches),
    ("POST", NAMESPACED + "/batches", batches.create_batch),
    ("GET", _BATCH, batches.get_batch),
    ("DELETE", _BATCH, batches.cancel_batch),
    ("GET", NAMESPACED + "/actions/{package}/", definitions.list_package),
    *_COLLECTIONS,
    ("PUT", NAMESPACED + "/deployments", deployments.put_deployment),
    ("POST", API + "/webhooks/{token}", webhooks.call_webhook),
    (ANY, WEB + "{path:path}", web.serve),
    ("POST", API + "/completions/{token}", completions.complete),
    ("POST", API + "/completions/{token}/heartbeat", completions.heartbeat),
    ("GET", API + "/namespaces", service.list_namespaces),
    ("GET", _OPERATED, namespaces.list_all),
    ("GET", _OPERATED + "/{name}", namespaces.get),
    ("PUT", _OPERATED + "/{name}", namespaces.put),
    ("DELETE", _OPERATED + "/{name}", namespaces.delete),
    ("POST", _OPERATED + "/{name}/rotate", namespaces.rotate),
    ("POST", API + "/operator/resume", service.resume),
    ("GET", NAMESPACED + "/adapters", clouds.list_adapters),
    ("POST", NAMESPACED + "/adapters/check", clouds.check),
    ("GET", NAMESPACED + "/secrets", clouds.list_secrets),
    ("PUT", NAMESPACED + "/secrets/{name}", clouds.put_secret),
    ("DELETE", NAMESPACED + "/secrets/{name}", clouds.delete_secret),
    ("GET", NAMESPACED + "/keys", keys.list_keys),
    ("PUT", NAMESPACED + "/keys/{name}", keys.create_key),
    ("POST", NAMESPACED + "/keys/{name}/rotate", keys.rotate_key),
    ("DELETE", NAMESPACED + "/keys/{name}", keys.revoke_key),
    ("GET", NAMESPACED + "/audit", audit.list_namespace),
    ("GET", API + "/operator/audit", audit.list_all),
    ("GET", NAMESPACED + "/limits", service.get_limits),
    ("GET", NAMESPACED, service.get_namespace),
    ("GET", "/metrics", service.metrics),
    ("GET", "/health", service.health),
    ("GET", "/ping", service.ping),
    ("GET", "/", service.describe_host),
    ("GET", API, service.describe_api),
]

FREQUENT = (  # answered without the router: see `direct`
    f"POST {_ACTION}",
    f"POST {NAMESPACED}/triggers/{{name}}",
    f"POST {NAMESPACED}/events",
    f"GET {_ACTIVATION}",
    *(f"{method} {path}" for method, path, _ in _ENTITIES if method == "POST"),
    f"POST {API}/completions/{{token}}",
    f"POST {_QUEUE}/take",
)
