"""Operations on the store of a stopped server, and on a server that was started paused."""

from __future__ import annotations

from tests.kit.infra.servers import AUTH, Server, running
from xingqiao import composer
from xingqiao.infra.settings import OPERATOR_FILE

HERE = ("--auth", AUTH, "--isolation", "process")
WAITS = composer.sequence(composer.wait(3600))
MAIN = composer.parallel("of_waits", "of_waits")
LOOKS = 1000


def deployed(server):
    """Starts an execution with two below it. Returns its id."""
    with server.client() as client:
        for name, composition in (("of_waits", WAITS), ("of_main", MAIN)):
            body = {"exec": {"kind": "composition", "composition": composition.to_json()}}
            assert client.put(f"/actions/{name}", json=body).status_code == 200
        id = client.post("/actions/of_main").json()["activationId"]
        for _ in range(LOOKS):
            if len(client.get("/executions", params={"status": "running"}).json()) == 3:
                return id
    raise AssertionError("it has not begun")


def test_executions_are_listed_and_ended_where_no_server_runs(command, tmp_path):
    data = tmp_path / "data"
    with running(data, *HERE) as server:
        id = deployed(server)
        refused = command("execution", "terminate", id, "--data", data)
    listed = command("execution", "list", "--status", "running", "--data", data, "--json").json
    ended = command("execution", "terminate", id, "--data", data)
    again = command("execution", "terminate", id, "--data", data)
    left = command("execution", "list", "--status", "running", "--data", data, "--json").json
    nobody = command("execution", "terminate", "0" * 32, "--data", data, "--json")
    nowhere = command("execution", "list", "--data", tmp_path / "nowhere")

    assert refused.code == 1
    assert "a server is using" in refused.err
    assert len(listed) == 3
    assert {one["namespace"] for one in listed} == {"guest"}
    assert ended.code == 0
    assert f"terminated {id} and 2 executions below it" in ended.out
    assert again.code == 1
    assert "has ended: it has cancelled" in again.err
    assert left == []
    assert nobody.code == 1
    assert "There is no execution" in nobody.err
    assert nowhere.code == 1
    assert "there is no store in" in nowhere.err
    with running(data, *HERE) as server, server.client() as client:
        found = client.get(f"/executions/{id}").json()
        activation = client.get(f"/activations/{id}").json()
    assert found["status"] == "cancelled"
    assert activation["response"]["success"] is False


def test_a_paused_server_reads_and_ends_and_goes_on_when_it_is_told_to(command, tmp_path):
    data = tmp_path / "data"
    with running(data, *HERE) as server:
        bad, good = deployed(server), deployed_again(server)
    paused = Server(data, *HERE, "--paused")
    operator = (data / OPERATOR_FILE).read_text().strip()
    with paused.client() as client:
        assert client.get(f"{paused.url}/").json()["paused"] is True
        health = client.get(f"{paused.url}/health").json()
        assert health == {"status": "paused", "recovery_left": 2}
        assert client.get(f"/executions/{bad}").json()["status"] == "running"
        assert len(client.get("/actions").json()) == 2
        for method, path in (
            ("POST", "/actions/of_main"),
            ("PUT", "/actions/new"),
            ("POST", f"/executions/{good}/cancel"),
            ("POST", f"/executions/{good}/resume"),
            ("GET", f"{paused.url}/api/v1/web/guest/default/of_main.json"),
        ):
            answer = client.request(method, path, json={})
            assert answer.status_code == 503, path
            assert "paused" in answer.json()["error"]
        told = command("execution", "terminate", bad, "--url", paused.url, "--auth", AUTH, "--json")
        assert told.json["status"] == "cancelled"
        forbidden = client.post(f"{paused.url}/api/v1/operator/resume")
        resumed = command("service", "resume", "--url", paused.url, "--operator", operator)
        again = command("service", "resume", "--url", paused.url, "--operator", operator, "--json")
        assert client.get(f"{paused.url}/health").json()["status"] == "ok"
        assert "paused" not in client.get(f"{paused.url}/").json()
        assert client.get(f"/executions/{good}").json()["status"] == "running"
        assert client.post("/actions/of_main").status_code == 202
    _, errors = paused.stop()

    assert forbidden.status_code == 403
    assert resumed.code == 0
    assert "the server has resumed" in resumed.out
    assert again.json["status"] == "ok"
    assert "the server is paused" in errors
    assert "recovery begins" in errors
    assert "recovered" in errors


def deployed_again(server):
    with server.client() as client:
        return client.post("/actions/of_main").json()["activationId"]
