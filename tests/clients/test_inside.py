"""Actions that invoke others: by the npm client, and by plain HTTP, with the key they are given."""

from __future__ import annotations

import pytest

NODE = """
const openwhisk = require('openwhisk')
function main (params) {
  const ow = openwhisk()
  return ow.actions.invoke({ name: 'inner', blocking: true, result: true, params: { n: params.n } })
    .then(inner => ow.actions.invoke({ name: 'inner', params: inner })
      .then(({ activationId }) => ({ inner, activationId, namespace: process.env.__OW_NAMESPACE })))
}
"""
PYTHON = """
import base64, json, os, urllib.request

def main(params):
    url = (os.environ["__OW_API_HOST"] + "/api/v1/namespaces/" + os.environ["__OW_NAMESPACE"]
           + "/actions/inner?blocking=true&result=true")
    key = base64.b64encode(os.environ["__OW_API_KEY"].encode()).decode()
    asked = urllib.request.Request(url, json.dumps(params).encode(), {
        "Authorization": "Basic " + key, "Content-Type": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        return {"inner": json.load(answer)}
"""
KEYS = {
    "nodejs:20": "function main() { return { key: process.env.__OW_API_KEY || null } }",
    "python:3": "import os\ndef main(params): return {'key': os.environ.get('__OW_API_KEY')}",
}


def put(client, name, kind, code, *, key=False):
    body = {
        "exec": {"kind": kind, "code": code},
        "annotations": [{"key": "provide-api-key", "value": key}],
    }
    answer = client.put(f"/actions/{name}", params={"overwrite": "true"}, json=body)
    assert answer.status_code == 200, answer.text


def result(client, name, **params):
    query = {"blocking": "true", "result": "true"}
    answer = client.post(f"/actions/{name}", params=query, json=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture(autouse=True)
def _inner(client):
    put(client, "inner", "nodejs:20", "function main(p) { return { n: p.n + 1 } }")


def test_a_node_action_invokes_another_by_the_npm_client(client):
    put(client, "outer", "nodejs:20", NODE, key=True)

    made = result(client, "outer", n=1)

    assert (made["inner"], made["namespace"]) == ({"n": 2}, "guest")
    again = client.get(f"/activations/{made['activationId']}", params={"wait": 10000}).json()
    assert again["response"]["result"] == {"n": 3}


def test_a_python_action_invokes_another_over_http(client):
    put(client, "outer", "python:3", PYTHON, key=True)

    assert result(client, "outer", n=1) == {"inner": {"n": 2}}


@pytest.mark.parametrize("kind", KEYS)
def test_only_who_asks_for_a_key_is_given_one(client, kind):
    put(client, "with", kind, KEYS[kind], key=True)
    put(client, "without", kind, KEYS[kind])

    assert ":action-" in result(client, "with")["key"]
    assert result(client, "without")["key"] is None
