"""The table of permissions: the right that each route and each operation of Step Functions needs.

A route without a row cannot be served: `create_app` refuses it. `tests/infra/access/test_permissions.py` goes
over all routes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

from .roles import Right


class Door(Enum):
    """The way in which a request proves its key.

    KEY: Basic authentication, checked before the endpoint runs. SIGNATURE: AWS' Signature Version 4, checked by
    the wing. TOKEN: a token in the path, which is made for one purpose. OPEN: anybody, or a check of the
    endpoint's own.
    """

    KEY = auto()
    SIGNATURE = auto()
    TOKEN = auto()
    OPEN = auto()


@dataclass(frozen=True, slots=True)
class Permission:
    """A row of the table.

    Args:
        right: the right that the key must have; None if the request needs no key.
        verb: the change, as the audit log names it; "" for a request that is not audited.
        door: the way in which the request proves its key.
    """

    right: Right | None
    verb: str = ""
    door: Door = Door.KEY


OPEN = Permission(None, door=Door.OPEN)
TOKEN = Permission(None, door=Door.TOKEN)
SIGNED = Permission(None, door=Door.SIGNATURE)  # `OPERATIONS` has the right
LOOK, READ, INVOKE = Permission(Right.LOOK), Permission(Right.READ), Permission(Right.INVOKE)


def _deploy(verb: str) -> Permission:
    return Permission(Right.DEPLOY, verb)


def _admin(verb: str = "") -> Permission:
    return Permission(Right.ADMIN, verb)


_API = "/api/v1"
_HOME = _API + "/namespaces/{namespace}"
_EXECUTION = _HOME + "/executions/{id}"
_LETTER = _HOME + "/dead-letters/{id}"
_SCHEDULE = _HOME + "/schedules/{name}"
_BATCH = _HOME + "/batches/{id}"
_QUEUE = _HOME + "/queues/{name}"
_LIMIT = _HOME + "/limits/{name}"
_OPERATED = _API + "/operator/namespaces"
_LAMBDA = "/2015-03-31/functions"

_DEFINITIONS = {
    f"{method} {_HOME}/{collection}{path}": row
    for collection in ("actions", "packages", "triggers", "rules")
    for method, path, row in (
        ("GET", "", READ),
        ("GET", "/", READ),
        ("GET", "/{name:path}", READ),
        ("PUT", "/{name:path}", _deploy("put")),
        ("DELETE", "/{name:path}", _deploy("delete")),
    )
}

_ENTITIES = {
    f"{method} {_HOME}/entities/{type}/keys{key}": row
    for type in ("{type}", "{package}/{type}")
    for method, key, row in (
        ("GET", "", LOOK),
        ("GET", "/{key:path}", LOOK),
        ("POST", "/{key:path}", INVOKE),
        ("DELETE", "/{key:path}", _deploy("delete")),
    )
}


def _configured(path: str, *methods: str) -> dict[str, Permission]:
    """The rows of a part of a function that has its own calls."""
    verbs = {"POST": "create", "PUT": "update", "DELETE": "delete"}
    return {
        f"{method} {path}": READ if method == "GET" else _deploy(verbs[method])
        for method in methods
    }


_FUNCTION = _LAMBDA + "/{name}"
_FUNCTIONS = {
    route: replace(row, door=Door.SIGNATURE)
    for route, row in {
        f"POST {_FUNCTION}/invocations": INVOKE,
        **_configured(_LAMBDA, "GET", "POST"),
        **_configured(f"{_LAMBDA}/", "GET", "POST"),
        **_configured(_FUNCTION, "GET", "DELETE"),
        f"GET {_FUNCTION}/configuration": READ,
        f"PUT {_FUNCTION}/configuration": _deploy("update configuration"),
        f"PUT {_FUNCTION}/code": _deploy("update code"),
        f"GET {_FUNCTION}/versions": READ,
        f"POST {_FUNCTION}/versions": _deploy("publish version"),
        **_configured(f"{_FUNCTION}/aliases", "GET", "POST"),
        **_configured(f"{_FUNCTION}/aliases/{{alias}}", "GET", "PUT", "DELETE"),
        f"GET {_FUNCTION}/policy": READ,
        f"POST {_FUNCTION}/policy": _deploy("add permission"),
        f"DELETE {_FUNCTION}/policy/{{statement}}": _deploy("remove permission"),
        **_configured("/2017-03-31/tags/{arn:path}", "GET", "POST", "DELETE"),
        **_configured("/2021-10-31/functions/{name}/url", "GET", "POST", "PUT", "DELETE"),
        "GET /2021-10-31/functions/{name}/urls": READ,
        "GET /2019-09-25/functions/{name}/event-invoke-config/list": READ,
        **_configured(
            "/2019-09-25/functions/{name}/event-invoke-config", "GET", "POST", "PUT", "DELETE"
        ),
        **_configured("/2017-10-31/functions/{name}/concurrency", "PUT", "DELETE"),
        "GET /2019-09-30/functions/{name}/concurrency": READ,
        "GET /2019-09-30/functions/{name}/provisioned-concurrency": READ,
        "GET /2020-06-30/functions/{name}/code-signing-config": READ,
        "GET /2015-03-31/event-source-mappings": READ,
        "GET /2015-03-31/event-source-mappings/": READ,
        "GET /2021-07-20/functions/{name}/runtime-management-config": READ,
        "GET /2016-08-19/account-settings": READ,
        "GET /2016-08-19/account-settings/": READ,
    }.items()
}

ROUTES: dict[str, Permission] = {  # "METHOD path": its row
    f"POST {_HOME}/actions/{{name:path}}": INVOKE,
    f"POST {_HOME}/triggers/{{name}}": INVOKE,
    f"POST {_HOME}/events": INVOKE,
    f"GET {_HOME}/events/{{key}}": LOOK,
    f"POST {_HOME}/rules/{{name}}": _deploy("set status"),
    f"GET {_HOME}/actions/{{package}}/": READ,
    **_DEFINITIONS,
    f"GET {_HOME}/activations": LOOK,
    f"GET {_HOME}/activations/{{id}}": LOOK,
    f"GET {_HOME}/activations/{{id}}/result": LOOK,
    f"GET {_HOME}/activations/{{id}}/logs": LOOK,
    f"DELETE {_HOME}/activations/{{id}}": _deploy("cancel"),
    f"GET {_HOME}/logs": LOOK,
    f"PUT {_HOME}/deployments": _deploy("deploy"),
    f"GET {_HOME}/executions": LOOK,
    f"GET {_HOME}/executions/count": LOOK,
    f"GET {_EXECUTION}": LOOK,
    f"GET {_EXECUTION}/history": LOOK,
    f"GET {_EXECUTION}/cost": LOOK,
    f"POST {_EXECUTION}/cancel": _deploy("cancel"),
    f"POST {_EXECUTION}/pause": _deploy("pause"),
    f"POST {_EXECUTION}/resume": _deploy("resume"),
    f"POST {_EXECUTION}/redrive": _deploy("redrive"),
    f"POST {_EXECUTION}/reset": _deploy("reset"),
    f"POST {_EXECUTION}/fork": _deploy("fork"),
    f"POST {_EXECUTION}/answer": Permission(Right.INVOKE, "answer"),
    f"GET {_EXECUTION}/queries": LOOK,
    f"GET {_EXECUTION}/queries/{{name}}": LOOK,
    f"POST {_EXECUTION}/updates/{{name}}": Permission(Right.INVOKE, "update"),
    f"GET {_EXECUTION}/updates/{{name}}/{{update}}": LOOK,
    f"GET {_EXECUTION}/messages": LOOK,
    f"POST {_EXECUTION}/messages/{{name}}": Permission(Right.INVOKE, "tell"),
    f"POST {_EXECUTION}/annotate": _deploy("annotate"),
    f"GET {_HOME}/attributes": READ,
    f"GET {_HOME}/attributes/{{name}}": READ,
    f"PUT {_HOME}/attributes/{{name}}": _deploy("put"),
    f"DELETE {_HOME}/attributes/{{name}}": _deploy("delete"),
    f"GET {_HOME}/entities": LOOK,
    **_ENTITIES,
    f"GET {_HOME}/dead-letters": LOOK,
    f"GET {_LETTER}": LOOK,
    f"DELETE {_LETTER}": _deploy("delete"),
    f"POST {_LETTER}/retry": _deploy("retry"),
    f"GET {_HOME}/waiting-limits": LOOK,
    f"GET {_LIMIT}": LOOK,
    f"PUT {_LIMIT}": _deploy("put"),
    f"DELETE {_LIMIT}": _deploy("delete"),
    f"GET {_HOME}/queues": LOOK,
    f"GET {_QUEUE}": LOOK,
    f"PUT {_QUEUE}": _deploy("put"),
    f"DELETE {_QUEUE}": _deploy("delete"),
    f"POST {_QUEUE}/take": Permission(Right.WORK),
    f"DELETE {_QUEUE}/workers/{{worker}}": Permission(Right.WORK),
    f"GET {_HOME}/sagas": LOOK,
    f"GET {_HOME}/sagas/{{id}}": LOOK,
    f"POST {_HOME}/sagas/{{id}}": _deploy("resolve"),
    f"GET {_HOME}/transactions": LOOK,
    f"POST {_HOME}/transactions/{{id:path}}": _deploy("decide"),
    f"DELETE {_HOME}/transactions/{{id:path}}": _deploy("forget"),
    f"GET {_HOME}/schedules": READ,
    f"GET {_SCHEDULE}": READ,
    f"PUT {_SCHEDULE}": _deploy("put"),
    f"DELETE {_SCHEDULE}": _deploy("delete"),
    f"POST {_SCHEDULE}/pause": _deploy("pause"),
    f"POST {_SCHEDULE}/resume": _deploy("resume"),
    f"POST {_SCHEDULE}/trigger": Permission(Right.INVOKE, "trigger"),
    f"POST {_SCHEDULE}/backfill": Permission(Right.INVOKE, "backfill"),
    f"GET {_HOME}/batches": LOOK,
    f"POST {_HOME}/batches": Permission(Right.INVOKE, "create"),  # all but `tell` need DEPLOY
    f"GET {_BATCH}": LOOK,
    f"DELETE {_BATCH}": _deploy("cancel"),
    f"GET {_HOME}/adapters": READ,
    f"POST {_HOME}/adapters/check": Permission(
        Right.DEPLOY
    ),  # it uses secrets, and changes nothing
    f"GET {_HOME}/secrets": READ,
    f"PUT {_HOME}/secrets/{{name}}": _deploy("put"),
    f"DELETE {_HOME}/secrets/{{name}}": _deploy("delete"),
    f"GET {_HOME}/keys": _admin(),
    f"PUT {_HOME}/keys/{{name}}": _admin("create"),
    f"POST {_HOME}/keys/{{name}}/rotate": _admin("rotate"),
    f"DELETE {_HOME}/keys/{{name}}": _admin("revoke"),
    f"GET {_HOME}/audit": _admin(),
    f"GET {_HOME}/limits": LOOK,
    f"GET {_HOME}": READ,
    f"GET {_API}/namespaces": LOOK,
    f"GET {_OPERATED}": READ,  # these also need a key of `whisk.system`
    f"GET {_OPERATED}/{{name}}": READ,
    f"PUT {_OPERATED}/{{name}}": _admin("put"),
    f"DELETE {_OPERATED}/{{name}}": _admin("delete"),
    f"POST {_OPERATED}/{{name}}/rotate": _admin("rotate"),
    f"POST {_API}/operator/resume": _admin("resume"),
    f"GET {_API}/operator/audit": _admin(),
    "GET /metrics": OPEN,  # the endpoint checks: a scraper's key, or READ for `whisk.system`
    "GET /health": OPEN,
    "GET /ping": OPEN,
    "GET /": OPEN,
    f"GET {_API}": OPEN,
    f"* {_API}/web/{{path:path}}": OPEN,  # the action decides
    "* /lambda-url/{url}": OPEN,  # the configuration of the URL decides
    "* /lambda-url/{url}/{path:path}": OPEN,
    f"POST {_API}/webhooks/{{token}}": TOKEN,
    f"POST {_API}/completions/{{token}}": TOKEN,
    f"POST {_API}/completions/{{token}}/heartbeat": TOKEN,
    "POST /": SIGNED,
    **_FUNCTIONS,
}

_OPERATIONS = (
    (
        READ,
        """DescribeActivity DescribeStateMachine DescribeStateMachineAlias DescribeStateMachineForExecution
        ListActivities ListStateMachineAliases ListStateMachineVersions ListStateMachines
        ListTagsForResource ValidateStateMachineDefinition""",
    ),
    (LOOK, "DescribeExecution DescribeMapRun GetExecutionHistory ListExecutions ListMapRuns"),
    (
        INVOKE,
        """GetActivityTask SendTaskFailure SendTaskHeartbeat SendTaskSuccess StartExecution
        StartSyncExecution""",
    ),
    (Permission(Right.DEPLOY), "TestState"),  # it runs a definition, and stores nothing
    (
        _deploy("change"),
        """CreateActivity CreateStateMachine CreateStateMachineAlias DeleteActivity DeleteStateMachine
        DeleteStateMachineAlias DeleteStateMachineVersion PublishStateMachineVersion RedriveExecution
        StopExecution TagResource UntagResource UpdateMapRun UpdateStateMachine UpdateStateMachineAlias""",
    ),
)

OPERATIONS: dict[str, Permission] = {  # operation of Step Functions: its row
    operation: replace(row, verb=operation if row.verb else "")
    for row, operations in _OPERATIONS
    for operation in operations.split()
}
