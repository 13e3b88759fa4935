"""A bundle for Google Cloud, deployed on loopback as its `main.tf.json` says.

Each function is a process of the real functions-framework, with the archive, entry point, environment and account
that the document gives it. The APIs and IAM are `google_cloud.GoogleCloud`, with the permissions that the document
grants. Time passes when nothing else is to happen.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import time
import urllib.parse
import zipfile
from contextlib import suppress
from pathlib import Path

from tests.kit.deploy.google_cloud import ACT_AS, CREATE, DOCUMENTS, GoogleCloud
from tests.rigs.venvs import python_of

FUNCTION = Path(__file__).parents[2] / "rigs/google_function.py"
DEADLINE_S = 60
PROJECT, NUMBER, REGION = "project", "123456789012", "us-central1"
LOOKS = 2_000
STEP_MS = 180_000  # longer than a conductor is waited for
ROLES = {
    "roles/cloudtasks.enqueuer": CREATE,
    "roles/iam.serviceAccountUser": ACT_AS,
    "roles/datastore.user": DOCUMENTS,
    "roles/run.invoker": "run.routes.invoke",
}


class Described:
    """What `main.tf.json` says: its resources, with references in place of which stands what they refer to."""

    def __init__(self, folder, callers):
        self.folder = folder
        self.document = json.loads((folder / "main.tf.json").read_text())
        self.callers = callers
        self.resources = self.document["resource"]

    def all(self, kind):
        """The resources of a kind, by name, whole."""
        return {name: self.read(one) for name, one in self.resources[kind].items()}

    def read(self, value):
        if isinstance(value, dict):
            return {key: self.read(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.read(item) for item in value]
        if not isinstance(value, str):
            return value
        return re.sub(r"\$\{([^}]*)\}", lambda found: self._referred(found[1]), value)

    def _referred(self, reference):
        known = {
            "var.project": PROJECT, "var.region": REGION, "path.module": str(self.folder),
            "data.google_project.this.number": NUMBER, "toset(var.callers)": "callers", "each.value": "each",
        }  # fmt: skip
        if reference in known:
            return known[reference]
        if reference.startswith(("filemd5(", "toset(")):
            return "0"
        kind, name, what = reference.split(".")
        resource = self.resources[kind][name]  # a reference to what is not there is a mistake
        if kind == "google_service_account":
            assert what in ("email", "name", "id")
            return name
        if kind == "google_storage_bucket_object":
            return f"{name}.zip"
        assert what == "name"
        return self.read(resource["name"])

    def grants(self):
        """Who may do what to what."""
        place = f"projects/{PROJECT}/locations/{REGION}/queues"
        queues = self.all("google_cloud_tasks_queue_iam_member").values()
        accounts = self.all("google_service_account_iam_member").values()
        functions = self.all("google_cloud_run_v2_service_iam_member").values()
        project = self.all("google_project_iam_member").values()
        found = [
            *((one, f"{place}/{one['name']}") for one in queues),
            *((one, one["service_account_id"]) for one in accounts),
            *((one, one["name"]) for one in functions),
            *(
                (one, re.fullmatch(r'resource.name == "(.*)"', one["condition"]["expression"])[1])
                for one in project
                if "condition" in one
            ),
        ]
        members = [
            (one["member"].removeprefix("serviceAccount:"), ROLES[one["role"]], of)
            for one, of in found
        ]
        return {(who, what, of) for who, what, of in members if who != "each"} | {
            (caller, what, of)
            for who, what, of in members
            if who == "each"
            for caller in self.callers
        }


class Function:
    """A function as a process."""

    def __init__(self, described, name, unpacked, ahead, environment):
        build, run = described["build_config"], described["service_config"]
        assert re.fullmatch("[a-z][a-z0-9-]{0,48}", described["name"])
        assert len(f"{described['name']}-{NUMBER}") <= 63  # or it has no deterministic URL
        assert run["max_instance_request_concurrency"] == 1
        self.process = subprocess.Popen(
            [python_of("gcp"), "-P", FUNCTION, unpacked / "main.py", build["entry_point"], ahead], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", ""), **run["environment_variables"], **environment},
        )  # fmt: skip
        self.name, self._port = described["name"], None

    @property
    def port(self):
        if self._port is None:
            line = self.process.stdout.readline()
            assert line, f"{self.name} did not start: see standard error"
            self._port = int(line)
        return self._port

    def close(self):
        self.process.communicate(timeout=DEADLINE_S)  # it ends with its input


class World:
    """A deployed bundle, and what happens in it."""

    def __init__(self, folder, scratch, *, firestore=None):
        described = Described(folder, callers=["caller"])
        self.ahead = scratch / "ahead"
        self.pass_ms(0)
        accounts = described.resources["google_service_account"]
        queues = [
            f"projects/{PROJECT}/locations/{one['location']}/queues/{one['name']}"
            for one in described.all("google_cloud_tasks_queue").values()
        ]
        self.cloud = GoogleCloud(accounts, described.grants(), queues, self.now_ms)
        self.functions = {}
        for name, one in described.all("google_cloudfunctions2_function").items():
            archive = one["build_config"]["source"]["storage_source"]["object"]
            unpacked = scratch / name
            with zipfile.ZipFile(folder / archive) as zipped:
                zipped.extractall(unpacked)
            account = one["service_config"]["service_account_email"]
            environment = self.cloud.environment(account)
            if firestore:
                environment["FIRESTORE_EMULATOR_HOST"] = firestore
            self.functions[one["name"]] = Function(one, name, unpacked, self.ahead, environment)
        self.clock = described.all("google_cloud_scheduler_job")["minute"]["http_target"]
        self.api = described.read(described.document["output"]["url"]["value"])
        self.die_at, self.deaths, self.lose = None, 0, False
        self.counted = "/v2/" if firestore else "/v"  # requests that come to our own cloud

    def close(self):
        for function in self.functions.values():
            function.close()
        self.cloud.close()

    # --- time ------------------------------------------------------------------------------------

    def now_ms(self):
        return time.time_ns() // 1_000_000 + int(self.ahead.read_text())

    def pass_ms(self, ms):
        before = int(self.ahead.read_text()) if self.ahead.exists() else 0
        new = self.ahead.with_suffix(".new")
        new.write_text(str(before + ms))
        new.rename(self.ahead)  # readers see one or the other

    def wait(self, ms):
        """Lets time pass, and a sweep come."""
        self.pass_ms(ms)
        return self.sweep()

    # --- requests --------------------------------------------------------------------------------

    def http(self, method, path, headers=None, body="", *, who="caller"):
        """A caller's request. Status, body, headers; None if the process has died."""
        return self._call(who, f"{self.api}/{path}", method, headers or {}, body.encode())

    def look(self, execution):
        """How an execution stands. The request does not count, and nobody dies of it."""
        calls, die_at, self.die_at = self.cloud.calls, self.die_at, None
        seen = self.http("GET", f"executions/{execution}")["body"]
        self.cloud.calls, self.die_at = calls, die_at
        return seen

    def sweep(self):
        token = self.clock["oidc_token"]
        assert self.clock["uri"] == f"{token['audience']}/sweep"
        return self._call(token["service_account_email"], self.clock["uri"], "POST", {}, b"")

    def run(self, execution, *, die_at=None, twice=False, lose=False):
        """Delivers tasks until an execution has ended and nothing is left. How it stands then.

        die_at: the request to Google, counted over all calls, before which a process is killed.
        twice: each task comes twice.
        lose: the task with which a process was killed does not come again.
        """
        self.cloud.calls, self.die_at, self.lose, self.deaths = 0, die_at, lose, 0
        for _ in range(LOOKS):
            if self.step(twice=twice):
                continue
            seen = self.look(execution)
            if seen["status"] != "running":
                return {"seen": seen, "calls": self.cloud.calls, "deaths": self.deaths}
            self.wait(STEP_MS)
        raise AssertionError("it does not end")

    def step(self, *, twice=False):
        """Delivers the task that is due next. False if there is none."""
        waiting = self.cloud.tasks.waiting
        if not waiting:
            return False
        task = min(waiting, key=lambda one: one.due_ms)
        waiting.remove(task)
        self.pass_ms(max(0, task.due_ms - self.now_ms()))
        self.deliver(task)
        if twice:
            self.deliver(task)
        return True

    def deliver(self, task):
        """Sends a task to its function, which is asked again later unless it answers with success."""
        headers = {
            "X-CloudTasks-QueueName": task.queue.rpartition("/")[2],
            "X-CloudTasks-TaskName": task.name.rpartition("/")[2],
            "X-CloudTasks-TaskRetryCount": str(task.retries),
            "Content-Type": "application/json",
        }
        answer = self._call(task.account, task.url, "POST", headers, task.body)
        if answer is not None and 200 <= answer["status"] < 300:
            return
        if answer is None and self.lose:
            return
        task.retries += 1
        seconds = int(answer["headers"].get("Retry-After", 1)) if answer else 1
        task.due_ms = self.now_ms() + 1000 * seconds
        self.cloud.tasks.waiting.append(task)

    def _call(self, account, url, method, headers, body):
        """A request with an identity token of the account, as Cloud Run lets it through."""
        parts = urllib.parse.urlsplit(url)
        name = parts.hostname.partition(f"-{NUMBER}.{REGION}.run.app")[0]
        if (account, "run.routes.invoke", name) not in self.cloud.grants:
            return {"status": 403, "body": {}, "headers": {}}
        if self.die_at is not None:
            left = self.die_at - self.cloud.calls
            headers = {**headers, "x-die-before": f"{left} {self.counted}"}
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.functions[name].port, timeout=DEADLINE_S
        )
        try:
            with suppress(ConnectionError, http.client.RemoteDisconnected):
                connection.request(method, parts.path or "/", body, headers)
                response = connection.getresponse()
                text = response.read()
                return {
                    "status": response.status,
                    "body": json.loads(text) if text[:1] in b"{[" and text else {},
                    "headers": dict(response.headers),
                }
        finally:
            connection.close()
        self.deaths += 1
        self.die_at = None
        return None
