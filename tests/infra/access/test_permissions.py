"""The table of permissions: every route and every operation has a row."""

from __future__ import annotations

import re

import pytest

from tests.kit.http.worlds import USER
from tests.kit.http.worlds import world as opened
from xingqiao.infra.access.permissions import OPERATIONS, ROUTES, Door
from xingqiao.infra.access.roles import RIGHTS, Right, Role
from xingqiao.infra.http import create_app
from xingqiao.infra.http.routes import ROUTES as SERVED
from xingqiao.infra.http.wings import Wing
from xingqiao.infra.service.api import WINGS
from xingqiao.infra.stepfunctions.api.service import OPERATIONS as OF_STEP_FUNCTIONS

EVERY_ROUTE = sorted(
    {
        f"{method} {path}"
        for routes in (SERVED, *(wing.routes for wing in WINGS))
        for method, path, _ in routes
    }
)
WITHOUT_KEY = {
    "GET /", "GET /api/v1", "GET /health", "GET /ping",  # they tell nothing of a namespace
    "GET /metrics",  # tests/infra/http/test_keys.py
    "* /api/v1/web/{path:path}",  # tests/infra/http/test_web.py
    "* /lambda-url/{url}", "* /lambda-url/{url}/{path:path}",  # tests/infra/lambdas/test_urls.py
    "POST /api/v1/webhooks/{token}", "POST /api/v1/completions/{token}",
    "POST /api/v1/completions/{token}/heartbeat",
}  # fmt: skip
WITH_KEY = [route for route in EVERY_ROUTE if ROUTES[route].door is Door.KEY]
PLACES = {
    "namespace": "_", "name": "thing", "name:path": "thing", "package": "box", "id": "0" * 32,
    "id:path": "0" * 32, "key": "0" * 32, "key:path": "one", "type": "account", "token": "x",
    "worker": "one", "update": "one",
}  # fmt: skip


def test_every_route_has_a_row_and_every_row_a_route():
    assert set(ROUTES) == set(EVERY_ROUTE)


def test_every_operation_of_step_functions_has_a_row_and_every_row_an_operation():
    assert set(OPERATIONS) == set(OF_STEP_FUNCTIONS)
    assert all(row.right is not None for row in OPERATIONS.values())


def test_the_routes_without_a_key_are_these():
    open_to_all = {route for route, row in ROUTES.items() if row.door in (Door.OPEN, Door.TOKEN)}

    assert open_to_all == WITHOUT_KEY
    assert all(row.right is not None for row in ROUTES.values() if row.door is Door.KEY)


def test_what_changes_something_is_audited_and_what_reads_is_not():
    unaudited = {
        route
        for route, row in ROUTES.items()
        if not row.verb and row.right in (Right.DEPLOY, Right.ADMIN) and route[:4] != "GET "
    }

    assert unaudited == {"POST /api/v1/namespaces/{namespace}/adapters/check"}
    assert not any(row.verb for route, row in ROUTES.items() if route.startswith("GET "))
    assert {name for name, row in OPERATIONS.items() if not row.verb} == {
        name
        for name, row in OPERATIONS.items()
        if row.right is not Right.DEPLOY or name == "TestState"
    }


async def test_a_route_without_a_row_is_not_served(world):
    async def nothing(*_):
        """An endpoint that somebody forgot to add to the table."""

    with pytest.raises(LookupError, match=r"GET /new has no row in infra/access/permissions\.py"):
        create_app(world.api, [Wing(routes=[("GET", "/new", nothing)])])


async def test_every_role_may_do_what_its_rights_include_and_nothing_else():
    """Each role knocks at each route; whoever may enter gets any other answer than 403."""
    async with opened() as world:
        for role in Role:
            name = f"key-{role}"
            auth = world.caller(
                auth=tuple((await world.api.keys.create("guest", name, role, "test")).split(":"))
                if role is not Role.ADMIN
                else (USER, "a-key-for-tests")
            )
            for route in WITH_KEY:
                method, _, path = route.partition(" ")
                if "/operator/" in path:
                    continue  # other namespaces' keys are refused: the next test
                right = ROUTES[route].right
                made = re.sub(r"{([^}]*)}", lambda place: PLACES[place[1]], path)
                if right in RIGHTS[role] and method not in ("GET", "HEAD"):
                    continue  # what it changes is tested where the route is
                answer = await auth.request(method, made)
                refused = answer.status_code == 403
                assert refused is (right not in RIGHTS[role]), f"{role}: {route}: {answer.text}"
                if refused:
                    said = rf"The key '{name}' has the role '{role}'; this needs '\w+'\."
                    assert re.fullmatch(said, answer.json()["error"])
                    assert answer.json()["code"] == answer.headers["x-request-id"]


async def test_without_a_key_no_route_but_the_open_ones_answers(world):
    nobody = world.caller()

    for route in WITH_KEY:
        method, _, path = route.partition(" ")
        made = re.sub(r"{([^}]*)}", lambda place: PLACES[place[1]], path)
        assert (await nobody.request(method, made)).status_code == 401, route


async def test_the_operators_routes_are_for_the_operators_keys(world):
    operator_reads = world.caller(
        auth=tuple((await world.api.keys.create("whisk.system", "eye", "read", "test")).split(":"))
    )
    base = "/api/v1/operator"

    assert (await operator_reads.get(f"{base}/namespaces")).status_code == 200
    assert (await operator_reads.get("/metrics")).status_code == 200
    assert (await operator_reads.get(f"{base}/audit")).status_code == 403
    assert (await operator_reads.put(f"{base}/namespaces/x", json={})).status_code == 403
    for path in ("namespaces", "namespaces/guest", "audit"):
        answer = await world.caller(auth=(USER, "a-key-for-tests")).get(f"{base}/{path}")
        assert answer.status_code == 403, path
