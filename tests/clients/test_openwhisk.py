"""Every operation of the npm client `openwhisk`, and what it is answered."""

from __future__ import annotations

import base64
import io
import json
import re
import zipfile

import pytest

from tests.kit.clients.clients import RefusedByServerError

ECHO = "function main(p) { return p }"
FAIL = "function main(p) { return { error: 'no luck', more: 1 } }"
ID = re.compile(r"[0-9a-f]{32}")
NOTHING = {"type": "Buffer", "data": []}  # how the client shows an answer without content
GONE = "The requested resource does not exist."


@pytest.fixture(autouse=True)
def _clean(client):
    """Nothing is left of the test before."""
    for collection in ("rules", "triggers", "actions", "packages"):
        for doc in client.get(f"/{collection}", params={"limit": 0}).json():
            package = doc["namespace"].partition("/")[2]
            path = f"{package}/{doc['name']}" if package else doc["name"]
            assert client.delete(f"/{collection}/{path}", params={"force": "true"}).is_success


@pytest.fixture
def echo(driver):
    driver("actions", "create", name="echo", action=ECHO)
    return "echo"


def noted(doc):
    return {note["key"]: note["value"] for note in doc["annotations"]}


def refused(driver, resource, verb, **options):
    with pytest.raises(RefusedByServerError) as caught:
        driver(resource, verb, **options)
    return caught.value


# --- actions -----------------------------------------------------------------------------------


def test_an_action_is_created_from_code(driver):
    made = driver(
        "actions", "create", name="hello", action=ECHO, params={"a": 1},
        annotations={"about": "x"}, limits={"timeout": 2000, "memory": 128}, version="1.2.3",
    )  # fmt: skip

    assert (made["namespace"], made["name"], made["version"]) == ("guest", "hello", "1.2.3")
    assert made["exec"] == {"kind": "nodejs:20", "code": ECHO, "binary": False}
    assert made["parameters"] == [{"key": "a", "value": 1}]
    assert noted(made) == {"about": "x", "exec": "nodejs:20", "provide-api-key": False}
    assert made["limits"] == {"concurrency": 1, "logs": 10, "memory": 128, "timeout": 2000}
    assert made["publish"] is False


def test_an_action_is_created_from_a_zip(driver):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("package.json", '{"main": "lib/start.js"}')
        archive.writestr(
            "lib/start.js", "exports.main = p => ({ sum: require('./add')(p.a, p.b) })"
        )
        archive.writestr("lib/add.js", "module.exports = (a, b) => a + b")
    code = {"base64": base64.b64encode(raw.getvalue()).decode()}

    made = driver("actions", "create", name="zipped", action=code)
    result = driver(
        "actions", "invoke", name="zipped", params={"a": 1, "b": 2}, blocking=True, result=True
    )

    assert made["exec"]["binary"] is True
    assert result == {"sum": 3}


@pytest.mark.parametrize("kind", ["nodejs:default", "nodejs:20", "nodejs", "nodejs:14"])
def test_kinds_by_their_other_names(driver, kind):
    assert driver("actions", "create", name="k", action=ECHO, kind=kind)["exec"]["kind"] == (
        "nodejs:20"
    )


def test_an_unknown_kind_is_refused_with_those_there_are(driver):
    error = refused(driver, "actions", "create", name="k", action=ECHO, kind="swift:5")

    assert error.status == 400
    assert (
        "The specified runtime 'swift:5' is not supported by this platform." in error.body["error"]
    )
    assert "'nodejs:20'" in error.body["error"]
    assert "'python:3'" in error.body["error"]


def test_a_python_action_by_its_exec(driver):
    code = "def main(params): return {'n': params['n'] + 1}"
    driver("actions", "create", name="py", exec={"kind": "python:3"}, action=code)

    made = driver("actions", "invoke", name="py", params={"n": 1}, blocking=True, result=True)

    assert made == {"n": 2}


def test_an_action_is_got_with_and_without_its_code(driver, echo):
    whole = driver("actions", "get", name=echo)

    assert whole["exec"]["code"] == ECHO
    assert driver.plainly("actions", "get", echo) == whole
    assert driver.plainly("actions", "get", [echo, echo]) == [whole, whole]
    assert driver("actions", "get", name=f"/guest/{echo}") == whole
    assert driver("actions", "get", name=f"/_/{echo}") == whole
    assert "code" not in driver("actions", "get", name=echo, code=False)["exec"]
    error = refused(driver, "actions", "get", name="nobody")
    assert (error.status, error.body["error"]) == (404, GONE)


def test_actions_are_listed_in_pages_the_newest_first(driver):
    for name in "abc":
        driver("actions", "create", name=name, action=ECHO)

    listed = driver("actions", "list")

    assert [doc["name"] for doc in listed] == ["c", "b", "a"]
    assert listed[0].keys() == {
        "namespace", "name", "version", "publish", "annotations", "updated", "exec", "limits",
    }  # fmt: skip
    assert [doc["name"] for doc in driver("actions", "list", skip=1, limit=1)] == ["b"]
    assert driver("actions", "list", count=True) == {"actions": 3}
    error = refused(driver, "actions", "list", limit=201)
    assert error.body["error"] == "The value '201' is not in the range of 0 to 200 for actions."


def test_an_action_is_updated_and_deleted(driver, echo):
    updated = driver("actions", "update", name=echo, action=FAIL, annotations={"x": 1})
    again = refused(driver, "actions", "create", name=echo, action=ECHO)
    gone = driver("actions", "delete", name=echo)

    assert updated["version"] == "0.0.2"
    assert (again.status, again.body["error"]) == (409, "resource already exists")
    assert gone == updated
    assert refused(driver, "actions", "delete", name=echo).status == 404


def test_an_action_is_invoked(driver, echo):
    started = driver("actions", "invoke", name=echo, params={"n": 1})
    record = driver("actions", "invoke", name=echo, params={"n": 1}, blocking=True)
    result = driver("actions", "invoke", name=echo, params={"n": 1}, blocking=True, result=True)

    assert started.keys() == {"activationId"}
    assert ID.fullmatch(started["activationId"])
    assert result == {"n": 1}
    assert record["response"] == {
        "status": "success", "statusCode": 0, "success": True, "result": {"n": 1}, "size": 7,
    }  # fmt: skip
    assert (record["name"], record["namespace"], record["subject"]) == ("echo", "guest", "guest")
    assert record["end"] >= record["start"]
    notes = noted(record)
    assert (notes["path"], notes["kind"], notes["timeout"]) == ("guest/echo", "nodejs:20", False)
    assert notes["limits"] == {"concurrency": 1, "logs": 10, "memory": 256, "timeout": 60000}
    assert "waitTime" in notes


@pytest.mark.parametrize(
    ("code", "status", "said", "error"),
    [
        (FAIL, 502, "application error", "no luck"),
        ("function main() { return Promise.reject({ code: 7 }) }", 502, "application error",
         {"code": 7}),
        ("function main() { throw new Error('x') }", 502, "action developer error",
         "An error has occurred: Error: x"),
        ("function main() { return 3 }", 502, "action developer error",
         "The action did not return a dictionary or array."),
        ("function main() { process.exit(1) }", 502, "action developer error",
         "The action did not produce a valid response and exited unexpectedly."),
    ],
)  # fmt: skip
def test_an_action_that_fails_says_how(driver, code, status, said, error):
    driver("actions", "create", name="bad", action=code)

    failed = refused(driver, "actions", "invoke", name="bad", blocking=True)

    assert failed.status == status
    assert failed.body["response"]["status"] == said
    assert failed.body["response"]["success"] is False
    assert failed.body["response"]["result"] == {"error": error}


def test_a_sequence(driver, echo):
    driver("actions", "create", name="more", action="function main(p) { return { n: p.n + 1 } }")

    made = driver("actions", "create", name="seq", sequence=["/_/more", "/guest/more", "/_/echo"])
    record = driver("actions", "invoke", name="seq", params={"n": 1}, blocking=True)

    components = ["/guest/more", "/guest/more", "/guest/echo"]
    assert made["exec"] == {"kind": "sequence", "binary": False, "components": components}
    assert made["parameters"] == [{"key": "_actions", "value": components}]
    assert record["response"]["result"] == {"n": 3}
    notes = noted(record)
    assert (notes["kind"], notes["topmost"]) == ("sequence", True)
    assert "conductor" not in notes
    parts = [driver("activations", "get", name=id) for id in record["logs"]]
    assert [part["name"] for part in parts] == ["more", "more", "echo"]
    assert {part["cause"] for part in parts} == {record["activationId"]}
    assert all(noted(part)["causedBy"] == "sequence" for part in parts)
    assert record["duration"] == sum(part["duration"] for part in parts)


def test_a_sequence_that_fails_says_which_component(driver, echo):
    driver("actions", "create", name="bad", action=FAIL)
    driver("actions", "create", name="seq", sequence=["/_/echo", "/_/bad", "/_/echo"])

    failed = refused(driver, "actions", "invoke", name="seq", blocking=True)

    record = failed.body
    assert (failed.status, record["response"]["result"]) == (502, {"error": "no luck"})
    assert len(record["logs"]) == 2
    assert noted(record)["failed"] == {
        "name": "bad", "activationId": record["logs"][1], "status": "application error",
    }  # fmt: skip


def test_a_sequence_must_have_its_components(driver, echo):
    missing = refused(driver, "actions", "create", name="s", sequence=["/_/echo", "/_/nobody"])
    driver("actions", "create", name="s", sequence=["/_/echo"])
    itself = refused(driver, "actions", "update", name="s", sequence=["/_/echo", "/_/s"])
    many = refused(driver, "actions", "create", name="t", sequence=["/_/echo"] * 51)

    assert (missing.status, missing.body["error"]) == (
        400, "Sequence component does not exist: /guest/nobody.",
    )  # fmt: skip
    assert itself.body["error"] == "Sequence may not refer to itself."
    assert many.body["error"] == "Too many actions in the sequence."
    assert driver("actions", "create", name="t", sequence=["/_/echo"] * 50)["name"] == "t"


# --- activations and namespaces ----------------------------------------------------------------


def test_activations_are_listed_got_and_read(driver, echo):
    ids = [
        driver("actions", "invoke", name=echo, params={"n": n}, blocking=True)["activationId"]
        for n in range(3)
    ]

    listed = driver("activations", "list", name=echo, limit=3)
    whole = driver("activations", "list", name=echo, limit=1, docs=True)
    record = driver("activations", "get", name=ids[0])

    assert [doc["activationId"] for doc in listed] == ids[::-1]
    assert listed[0]["statusCode"] == 0
    assert "response" not in listed[0]
    assert whole[0]["response"]["result"] == {"n": 2}
    assert driver.plainly("activations", "get", ids[0]) == record
    assert driver("activations", "result", name=ids[0])["result"] == {"n": 0}
    assert driver("activations", "logs", name=ids[0]) == {"logs": record["logs"]}
    since = driver("activations", "list", name=echo, since=record["start"])
    assert set(ids) <= {doc["activationId"] for doc in since}
    assert driver("activations", "list", name=echo, upto=1) == []
    assert driver("activations", "list", name="nobody") == []
    assert driver("activations", "list", name=echo, count=True)["activations"] >= 3


@pytest.mark.parametrize(
    ("id", "status", "text"),
    [
        ("0" * 32, 404, GONE),
        ("0" * 31, 400, "Activation id length is 31 but must be 32."),
        ("z" * 32, 400, "The activation id is not valid."),
    ],
)
def test_an_activation_that_is_none(driver, id, status, text):
    error = refused(driver, "activations", "get", name=id)

    assert (error.status, error.body["error"]) == (status, text)


def test_namespaces(driver, echo):
    assert driver("namespaces", "list") == ["guest"]
    assert [doc["name"] for doc in driver("namespaces", "get", name="guest")["actions"]] == [echo]


# --- packages ----------------------------------------------------------------------------------


def test_packages_hold_actions_and_their_parameters(driver):
    made = driver(
        "packages", "create", name="pkg",
        package={"parameters": [{"key": "a", "value": "package"}, {"key": "b", "value": "package"}]},
    )  # fmt: skip
    driver("actions", "create", name="pkg/echo", action=ECHO, params={"b": "action"})
    driver("actions", "create", name="pkg/source", action=ECHO, annotations={"feed": True})

    shown = driver("packages", "get", name="pkg")
    result = driver(
        "actions",
        "invoke",
        name="/guest/pkg/echo",
        params={"c": "call"},
        blocking=True,
        result=True,
    )

    assert made["binding"] == {}
    assert [action["name"] for action in shown["actions"]] == ["echo"]
    assert [feed["name"] for feed in shown["feeds"]] == ["source"]
    assert result == {"a": "package", "b": "action", "c": "call"}
    listed = driver("actions", "list")
    assert {(doc["namespace"], doc["name"]) for doc in listed} == {
        ("guest/pkg", "echo"), ("guest/pkg", "source"),
    }  # fmt: skip
    full = refused(driver, "packages", "delete", name="pkg")
    assert (full.status, full.body["error"]) == (
        409,
        "Package not empty (contains 2 entities). Set force param or delete package contents.",
    )
    for name in ("echo", "source"):
        driver("actions", "delete", name=f"pkg/{name}")
    assert driver("packages", "delete", name="pkg")["name"] == "pkg"


def test_a_binding_is_another_name_with_parameters_of_its_own(driver):
    driver("packages", "create", name="pkg",
           package={"parameters": [{"key": k, "value": "package"} for k in "abc"]})  # fmt: skip
    driver("actions", "create", name="pkg/echo", action=ECHO, params={"c": "action"})

    bound = driver("packages", "create", name="bound", package={
        "binding": {"namespace": "guest", "name": "pkg"},
        "parameters": [{"key": "b", "value": "binding"}, {"key": "c", "value": "binding"}],
    })  # fmt: skip
    record = driver("actions", "invoke", name="bound/echo", params={"d": "call"}, blocking=True)

    assert bound["binding"] == {"namespace": "guest", "name": "pkg"}
    assert record["response"]["result"] == {
        "a": "package", "b": "binding", "c": "action", "d": "call",
    }  # fmt: skip
    notes = noted(record)
    assert (notes["path"], notes["binding"]) == ("guest/pkg/echo", "guest/bound")
    assert [a["name"] for a in driver("packages", "get", name="bound")["actions"]] == ["echo"]
    assert (
        driver("activations", "list", name="bound/echo", limit=1)[0]["activationId"]
        == (record["activationId"])
    )
    refusal = refused(driver, "actions", "create", name="bound/more", action=ECHO)
    assert (refusal.status, refusal.body["error"]) == (
        400, "Operation not permitted on package binding.",
    )  # fmt: skip


def test_packages_of_the_system_are_for_all(driver):
    public = driver("packages", "list", namespace="whisk.system")
    result = driver(
        "actions", "invoke", name="/whisk.system/utils/split",
        params={"payload": "a,b", "separator": ","}, blocking=True, result=True,
    )  # fmt: skip

    assert {"utils", "samples", "alarms"} <= {package["name"] for package in public}
    assert all(package["publish"] for package in public)
    assert result["lines"] == ["a", "b"]
    error = refused(driver, "actions", "create", name="/whisk.system/utils/mine", action=ECHO)
    assert error.status == 403


def test_packages_are_updated_counted_and_refused(driver):
    driver("packages", "create", name="p")
    updated = driver("packages", "update", name="p", package={"publish": True})

    assert (updated["version"], updated["publish"]) == ("0.0.2", True)
    assert driver("packages", "list", count=True) == {"packages": 1}
    assert [p["name"] for p in driver("packages", "list")] == ["p"]
    reserved = refused(driver, "packages", "create", name="default")
    assert reserved.body["error"] == "Package name 'default' is reserved."
    nothing = refused(driver, "packages", "create", name="b",
                      package={"binding": {"namespace": "guest", "name": "nobody"}})  # fmt: skip
    assert nothing.body["error"] == "Binding references a package that does not exist."


# --- triggers and rules ------------------------------------------------------------------------


def test_a_trigger_fires_the_actions_of_its_active_rules(driver, client, echo):
    driver("triggers", "create", name="t", trigger={"parameters": [{"key": "a", "value": 1}]})
    assert driver("triggers", "invoke", name="t", params={"b": 2}) == NOTHING
    rule = driver("rules", "create", name="r", action="echo", trigger="t")

    fired = driver("triggers", "invoke", name="t", params={"b": 2})

    assert (rule["status"], rule["trigger"], rule["action"]) == (
        "active", {"path": "guest", "name": "t"}, {"path": "guest", "name": "echo"},
    )  # fmt: skip
    record = driver("activations", "get", name=fired["activationId"])
    assert record["response"]["result"] == {"a": 1, "b": 2}
    (line,) = map(json.loads, record["logs"])
    assert (line["statusCode"], line["success"]) == (0, True)
    assert (line["rule"], line["action"]) == ("guest/r", "guest/echo")
    caused = client.get(f"/activations/{line['activationId']}", params={"wait": 10000}).json()
    assert caused["response"]["result"] == {"a": 1, "b": 2}
    assert "cause" not in caused
    shown = driver("triggers", "get", name="t")
    assert shown["rules"] == {
        "guest/r": {"action": {"path": "guest", "name": "echo"}, "status": "active"}
    }


def test_rules_are_disabled_and_enabled(driver, echo):
    driver("triggers", "create", name="t")
    driver("rules", "create", name="r", action="/_/echo", trigger="/_/t")

    driver("rules", "disable", name="r")
    assert driver("rules", "get", name="r")["status"] == "inactive"
    assert driver("triggers", "invoke", name="t") == NOTHING
    driver("rules", "enable", name="r")
    assert driver("rules", "get", name="r")["status"] == "active"

    assert driver("rules", "list", count=True) == {"rules": 1}
    assert [doc["name"] for doc in driver("rules", "list")] == ["r"]
    driver("triggers", "delete", name="t")
    assert driver("rules", "get", name="r")["status"] == "inactive"
    gone = refused(driver, "rules", "enable", name="r")
    assert (gone.status, gone.body["error"]) == (
        404, "Only rules with existing triggers can be activated",
    )  # fmt: skip
    assert driver("rules", "delete", name="r")["name"] == "r"


def test_a_rule_needs_a_trigger_and_an_action(driver, echo):
    driver("triggers", "create", name="t")

    no_action = refused(driver, "rules", "create", name="r", action="nobody", trigger="t")
    no_trigger = refused(driver, "rules", "create", name="r", action="echo", trigger="nobody")

    assert (no_action.status, no_action.body["error"]) == (
        400,
        "action /guest/nobody does not exist",
    )
    assert no_trigger.body["error"] == "trigger /guest/nobody does not exist"


def test_triggers_are_listed_updated_and_deleted(driver):
    driver("triggers", "create", name="t")
    updated = driver("triggers", "update", name="t",
                     trigger={"annotations": [{"key": "x", "value": 1}]})  # fmt: skip

    assert (updated["version"], noted(updated), updated["limits"]) == ("0.0.2", {"x": 1}, {})
    assert [doc["name"] for doc in driver("triggers", "list")] == ["t"]
    assert driver("triggers", "list", count=True) == {"triggers": 1}
    assert driver("triggers", "delete", name="t")["name"] == "t"
    assert refused(driver, "triggers", "invoke", name="t").status == 404
    feed = refused(driver, "triggers", "create", name="t",
                   trigger={"annotations": [{"key": "feed", "value": "a/b/c/d"}]})  # fmt: skip
    assert (feed.status, feed.body["error"]) == (400, "Feed name is not valid")


def test_a_name_stands_for_one_thing(driver, echo):
    error = refused(driver, "triggers", "create", name=echo)

    assert (error.status, error.body["error"]) == (
        409, "Resource by this name exists but is not in this collection.",
    )  # fmt: skip


# --- feeds and routes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feed", "params", "shown"),
    [
        ("alarm", {"cron": "0 12 * * *"}, {"cron": "0 12 * * *"}),
        ("interval", {"minutes": 5}, {"minutes": 5}),
        ("once", {"date": "2126-01-01T00:00:00Z"}, {"date": 4922899200000}),
    ],
)
def test_feeds_are_created_read_updated_and_deleted(driver, feed, params, shown):
    name = f"/whisk.system/alarms/{feed}"
    driver("triggers", "create", name="t",
           trigger={"annotations": [{"key": "feed", "value": name}]})  # fmt: skip

    driver("feeds", "create", name=name, trigger="t", params=params)
    read = driver("feeds", "get", name=name, trigger="t")["response"]["result"]
    driver("feeds", "update", name=name, trigger="t", params={"trigger_payload": {"x": 1}})
    again = driver("feeds", "get", name=name, trigger="/guest/t")["response"]["result"]
    driver("feeds", "delete", name=name, trigger="t")
    gone = refused(driver, "feeds", "get", name=name, trigger="t")

    assert shown.items() <= read["config"].items()
    assert read["status"]["active"] is True
    assert again["config"]["payload"] == {"x": 1}
    assert gone.body["response"]["result"]["error"] == (
        f"the trigger /guest/t has no alarm of the feed '{feed}'"
    )


def test_a_feed_says_what_is_wrong_with_its_parameters(driver):
    driver("triggers", "create", name="t")

    error = refused(driver, "feeds", "create", name="/whisk.system/alarms/alarm", trigger="t",
                    params={"cron": "every day"})  # fmt: skip

    assert error.status == 502
    assert "'cron' must be five fields" in error.body["response"]["result"]["error"]


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("list", {}),
        ("create", {"relpath": "/a", "operation": "GET", "action": "echo"}),
        ("delete", {"basepath": "/a"}),
    ],
)
def test_routes_are_refused(driver, echo, verb, options):
    """There is no API gateway: a web action has a URL of its own."""
    error = refused(driver, "routes", verb, **options)

    assert error.status == 404
    assert "no API gateway" in json.dumps(error.body)
