"""The service as a process: how it starts, what it says, and how it stops."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.kit.infra.servers import AUTH, DEADLINE_S, XINGQIAO, Server, running

LOOKS = 10_000  # each is a request, so that time passes
PROCESS = ("--auth", AUTH, "--isolation", "none")

# Writes down that it runs, then waits until it may end.
HELD = """
import os, time

def main(params):
    with open(params["runs"], "a") as file:
        file.write(os.environ["__OW_ACTIVATION_ID"] + "\\n")
    while not os.path.exists(params["may_end"]):
        time.sleep(0.005)
    return {"done": True}
"""


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def held(tmp_path):
    """An action that is held until it may end, and what to call it with."""

    class Held:
        runs, may_end = tmp_path / "runs", tmp_path / "may_end"
        params = {"runs": str(runs), "may_end": str(may_end)}  # noqa: RUF012

        @staticmethod
        def deploy(client):
            body = {"exec": {"kind": "python:3", "code": HELD}}
            assert client.put("/actions/held", json=body).status_code == 200

        def started(self, client):
            """Waits until it runs. Returns its id."""
            for _ in range(LOOKS):
                client.get("/actions", params={"count": "true"})
                if self.runs.exists() and self.runs.read_text().endswith("\n"):
                    return self.runs.read_text().split()[-1]
            raise AssertionError("it has not begun")

    return Held()


def stopping(server, client):
    """Tells a server to stop; waits until it has heard."""
    server.process.send_signal(signal.SIGTERM)
    for _ in range(LOOKS):
        if client.get(f"{server.url}/health").status_code == 503:
            return
    raise AssertionError("it does not stop")


def refusal(*options, **environment):
    """What a server that cannot start says, in one line; its key and its limits are others."""
    done = subprocess.run(
        [XINGQIAO, "serve", *options], capture_output=True, text=True, check=False,
        timeout=DEADLINE_S, env={**os.environ, **environment},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, ""), done
    others = (".infra.service.keys ", "limits of workers: ", " cgroups: ")
    (line,) = (
        line for line in done.stderr.splitlines() if not any(each in line for each in others)
    )
    return line.removeprefix("error: ")


# --- start -------------------------------------------------------------------------------------


def test_the_first_start_shows_credentials_that_work_and_the_second_shows_none(data):
    with running(data) as first:
        said = [first.process.stdout.readline() for _ in range(2)]
        auth = re.fullmatch(r"  export XINGQIAO_AUTH=(\S+)\n", said[1])[1]
        with first.client(tuple(auth.split(":"))) as client:
            assert client.get("/actions").status_code == 200
    assert said[0] == "Credentials, shown only once:\n"

    with running(data) as second, second.client(tuple(auth.split(":"))) as client:
        assert client.get("/actions").status_code == 200
        second.process.send_signal(signal.SIGTERM)
        assert second.process.communicate(timeout=DEADLINE_S)[0] == ""


def test_credentials_that_are_given_are_not_said(data):
    with running(data, "--auth", AUTH) as server:
        with server.client() as client:
            assert client.get("/actions").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        out, errors = server.process.communicate(timeout=DEADLINE_S)

    assert out == ""
    assert AUTH.partition(":")[2] not in server.said + errors


def test_a_key_on_the_command_line_is_warned_about_and_one_in_a_file_is_not(data, tmp_path):
    file = tmp_path / "auth"
    file.write_text(f"{AUTH}\n")
    with running(data, "--auth", AUTH) as server:
        _, errors = server.stop()
    assert "--auth shows the key to every user of this machine" in errors

    with running(data, "--auth-file", file) as server:
        with server.client() as client:
            assert client.get("/actions").status_code == 200
        _, errors = server.stop()
    assert "WARNING" not in errors
    none = tmp_path / "none"
    told = refusal("--auth-file", none, "--data", str(data))
    assert told == f"the auth_file {none} cannot be read: No such file or directory"


def test_a_server_that_others_can_reach_without_tls_says_so(data, tmp_path):
    with running(data, "--host", "0.0.0.0") as server:
        _, errors = server.stop()
    assert "listening on 0.0.0.0 without TLS" in errors

    assert "tls_cert is given without tls_key" in refusal("--tls-cert", "x", "--data", str(data))
    none = str(tmp_path / "none")
    given = ("--data", str(data), "--tls-cert", none, "--tls-key", none)
    assert refusal(*given) == f"tls_cert: {none} cannot be read: No such file or directory"


def test_it_listens_where_it_is_told_to(data):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")

    with running(data, "--host", "::1") as server:
        assert re.fullmatch(r"http://\[::1\]:\d+", server.url)
        assert httpx.get(f"{server.url}/health").json() == {"status": "ok"}


def test_what_keeps_it_from_starting_is_said_in_one_line(data, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = refusal("--port", str(port), "--data", str(data))
        assert f"cannot listen on 127.0.0.1:{port}: address already in use. Give another" in refused
    assert "the credentials must be UUID:KEY" in refusal("--auth", "short:key", "--data", str(data))
    assert "workers must be at least 1" in refusal("--workers", "0", "--data", str(data))
    assert "port must be at most 65535" in refusal("--port", "65536", "--data", str(data))
    assert "XINGQIAO_STEPS must be a number" in refusal("--data", str(data), XINGQIAO_STEPS="x")
    file = tmp_path / "file"
    file.touch()
    assert str(file) in refusal("--port", "0", "--data", str(file))


def test_a_table_that_cannot_be_used_is_said_in_one_line(data, tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    given = ("--port", "0", "--data", str(data), "--dynamodb")

    assert "dynamodb must be a table name" in refusal(*given, "no/table")
    assert "needs a region: set AWS_REGION" in refusal(*given, "table")
    said = refusal(*given, "table", AWS_REGION="eu-west-1")
    assert said == "table table cannot be used: Unable to locate credentials"


def test_isolation_that_cannot_be_had_is_refused_not_left_out(data, tmp_path):
    line = refusal("--port", "0", "--data", str(data), "--isolation", "bubblewrap",
                   PATH=str(tmp_path))  # fmt: skip

    assert line.startswith("bubblewrap is asked for, but there is no 'bwrap' here")


# --- over a socket -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data"), *PROCESS) as made:
        yield made


def raw(server, text):
    """What a server answers to bytes, until it closes or has answered whole."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=DEADLINE_S) as connection:
        connection.sendall(text)
        answer = b""
        while b"\r\n\r\n" not in answer and (more := connection.recv(65536)):
            answer += more
    return int(answer.split(maxsplit=2)[1])


def test_what_is_declared_too_large_is_refused_before_it_is_sent(server):
    head = f"POST /api/v1/completions/x HTTP/1.1\r\nHost: x\r\nContent-Length: {1 << 40}\r\n\r\n"

    assert raw(server, head.encode()) == 413


@pytest.mark.parametrize(
    "text",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n",
    ],
)
def test_what_is_no_http_is_refused(server, text):
    assert raw(server, text) == 400


def test_nothing_that_is_sent_makes_it_stumble(data):
    """Whatever the bytes, the answer is the caller's fault or a fair one, and the log has no traceback."""
    api = "/api/v1/namespaces/_"
    heads = [
        "GET /\xff",
        f"GET {api}/actions/%ff",
        f"GET {api}/actions/%zz",
        f"GET {api}/actions?limit=%ff",
        f"GET {api}/activations?name=%ff%00",
        f"GET {api}/activations?skip=2147483648&since=999999999999999999",
        f"GET {api}/executions?status=%00&name=%ff",
        f"GET {api}/executions/%ed%a0%80",
        f"GET {api}/executions/{'a' * 60_000}",
        f"GET {api}/executions/a/history?after={1 << 62}",
        f"PUT {api}/actions/%2e%2e",
        "GET //health",
        "GET /../health",
        "GET http://elsewhere/health",
        "OPTIONS *",
        "CONNECT elsewhere:1",
    ]
    tails = ["", "X-Request-ID: \xff\xfe\r\n", f"Big: {'x' * 60_000}\r\n"]
    host = "Host: x\r\nAuthorization: Basic " + base64.b64encode(AUTH.encode()).decode()
    with running(data, *PROCESS) as server:
        for head in heads:
            for tail in tails:
                text = f"{head} HTTP/1.1\r\n{host}\r\n{tail}\r\n"
                assert raw(server, text.encode("latin-1")) < 500, text[:100]
        for header in ("Authorization: Basic \xff", "Content-Length: 9\r\nContent-Length: 8"):
            text = f"GET /metrics HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n"
            assert raw(server, text.encode("latin-1")) in (400, 401)
        _, errors = server.stop()

    assert "Traceback" not in errors


def test_a_body_in_pieces_has_the_same_bounds(server):
    def pieces(count):
        yield b'{"text": "'
        for _ in range(count):
            yield b"x" * 65536
        yield b'"}'

    with server.client() as client:
        for count, status in ((1, 404), (17, 413)):
            answer = client.post("/actions/nothing", content=pieces(count))
            assert answer.status_code == status


def test_figures_are_served_to_the_operator_only(server):
    with server.operator() as operator, server.client() as client:
        figures = operator.get(f"{server.url}/metrics").text
        guest = client.get(f"{server.url}/metrics")

    assert "xingqiao_store_healthy 1.0" in figures
    assert "xingqiao_connections_unfinished 0.0" in figures
    assert 'xingqiao_refused_total{reason="header_slow"} 0.0' in figures
    assert guest.status_code == 403
    assert "XINGQIAO_METRICS_KEY" in guest.json()["error"]
    assert httpx.get(f"{server.url}/metrics").status_code == 401


def test_the_service_does_not_say_what_it_runs_on(server):
    assert "server" not in httpx.get(f"{server.url}/health").headers


# --- stop --------------------------------------------------------------------------------------


def test_while_it_stops_it_takes_nothing_new_and_what_is_under_way_ends(data, held):
    with running(data, *PROCESS) as server, server.client() as client:
        held.deploy(client)
        accepted = client.post("/actions/held", json=held.params).json()["activationId"]
        assert held.started(client) == accepted
        stopping(server, client)

        refused = client.post("/actions/held", json=held.params)
        assert refused.status_code == 503
        assert refused.json()["error"] == "The server is stopping."
        assert client.put("/actions/more", json={}).status_code == 503
        assert client.get("/actions/held").status_code == 200
        health = client.get(f"{server.url}/health")
        assert (health.status_code, health.json()) == (503, {"status": "stopping"})

        held.may_end.touch()
        _, errors = server.process.communicate(timeout=DEADLINE_S)
        assert server.process.returncode == 0, errors
        assert "stopping: running steps have 10 s to end" in errors
        assert "Traceback" not in errors

    with running(data, *PROCESS) as server, server.client() as client:
        record = client.get(f"/activations/{accepted}", params={"wait": 30_000}).json()
    assert record["response"]["result"] == {"done": True}
    assert held.runs.read_text().split() == [accepted]


def test_whoever_waits_when_it_stops_is_told_the_id_to_ask_for_later(data, held):
    with running(data, *PROCESS) as server, server.client() as client, ThreadPoolExecutor() as pool:
        held.deploy(client)
        waiting = pool.submit(
            client.post, "/actions/held", params={"blocking": "true"}, json=held.params
        )
        id = held.started(client)
        stopping(server, client)

        answer = waiting.result(DEADLINE_S)
        held.may_end.touch()

        assert (answer.status_code, answer.json()["activationId"]) == (202, id)
        assert f"activations/{id}?wait=60000" in answer.json()["message"]


def test_what_does_not_end_in_time_runs_again_after_the_next_start_with_its_id(data, held):
    environment = {**os.environ, "XINGQIAO_GRACE_S": "0"}
    server = Server(data, *PROCESS, environment=environment)
    with server.client() as client:
        held.deploy(client)
        accepted = client.post("/actions/held", json=held.params).json()["activationId"]
        held.started(client)
        code, errors = server.stop()
    assert code == 0, errors
    assert "some steps are still running; they run again after the next start" in errors
    held.may_end.touch()

    with running(data, *PROCESS) as second, second.client() as client:
        record = client.get(f"/activations/{accepted}", params={"wait": 30_000}).json()

    assert record["response"]["result"] == {"done": True}
    assert held.runs.read_text().split() == [accepted, accepted]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_either_signal_ends_it_in_order(data, number):
    server = Server(data, *PROCESS)

    code, errors = server.stop(number)

    assert code == 0
    assert "Traceback" not in errors


def test_its_log_can_be_json(data):
    server = Server(data, *PROCESS, "--log", "json")

    _, errors = server.stop()

    lines = [json.loads(line) for line in errors.splitlines()]
    assert "stopping: running steps have 10 s to end" in [line["message"] for line in lines]


@pytest.mark.parametrize(("count", "status"), [(100, 200), (500, 502)])
def test_an_operator_sets_how_many_steps_expressions_take(data, count, status):
    output = f"{{% $count($map([1..{count}], function($v) {{ $v * 2 }})) %}}"
    only = {"Type": "Pass", "Output": output, "End": True}
    definition = {"QueryLanguage": "JSONata", "StartAt": "only", "States": {"only": only}}
    exec = {"kind": "states", "definition": json.dumps(definition), "type": "EXPRESS"}
    environment = {**os.environ, "XINGQIAO_EVALUATION_STEPS": "1000"}

    with running(data, *PROCESS, environment=environment) as server, server.client() as client:
        client.put("/actions/machine", json={"exec": exec}).raise_for_status()
        found = client.post("/actions/machine", params={"blocking": "true"}, json={})

    assert found.status_code == status
    assert ("can raise XINGQIAO_EVALUATION_STEPS" in found.text) is (status != 200)
