"""Google's APIs on loopback: Firestore, Cloud Tasks and the metadata server, from their public documents.

What each request may do is not assumed: an account may do what `grants` says, as in Google's IAM. Documents and
limits: https://cloud.google.com/firestore/docs/reference/rest, https://cloud.google.com/firestore/quotas,
https://cloud.google.com/tasks/docs/reference/rest, https://cloud.google.com/tasks/docs/quotas.

Firestore's own emulator, where it is installed, passes the tests that use no other API.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import traceback
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DOCUMENT_BYTES = 1_048_576
VALUE_BYTES = DOCUMENT_BYTES - 89
REQUEST_BYTES = 10 * 1_048_576
TASK_BYTES = 1_000_000
LONGEST = timedelta(days=30)
DEADLINES_S = range(15, 1801)
CREATE = "cloudtasks.tasks.create"
ACT_AS = "iam.serviceAccounts.actAs"
DOCUMENTS = "datastore.entities.*"


class ApiError(Exception):
    """An error of an API."""

    def __init__(self, code, status, message):
        super().__init__(message)
        self.code = code
        self.body = {"error": {"code": code, "message": message, "status": status}}


def invalid(message):
    return ApiError(400, "INVALID_ARGUMENT", message)


# --- Firestore -------------------------------------------------------------------------------------


class Firestore:
    """Documents by their names; a commit is done as a whole or not at all."""

    def __init__(self):
        self.documents, self._lock, self._writes = {}, threading.Lock(), 0
        self.billed = Counter()

    def __call__(self, path, body):
        parent, _, verb = path.removeprefix("/v1/").rpartition(":")
        assert re.fullmatch(r"projects/[^/]+/databases/[^/]+/documents", parent), path
        with self._lock:
            return {"commit": self._commit, "runQuery": self._query}[verb](parent, body)

    def _commit(self, parent, body):
        writes = body["writes"]
        assert set(body) == {"writes"}
        for write in writes:
            self._check(parent, write)
        after = dict(self.documents)
        for write in writes:
            self._write(after, write)
            self.billed["delete" if "delete" in write else "write"] += 1
        self.documents = after
        return {"writeResults": [{} for _ in writes], "commitTime": self._time()}

    def _check(self, parent, write):
        name = write["delete"] if "delete" in write else write["update"]["name"]
        collection, _, id = name.removeprefix(f"{parent}/").partition("/")
        assert name.startswith(f"{parent}/")
        assert collection
        if (
            not id
            or "/" in id
            or len(id.encode()) > 1500
            or id in (".", "..")
            or re.fullmatch("__.*__", id)
        ):
            raise invalid(f"Document name {name!r} is invalid.")
        asked = write.get("currentDocument", {})
        assert set(asked) <= {"exists"}
        if asked.get("exists") is False and name in self.documents:
            raise ApiError(409, "ALREADY_EXISTS", f"Document already exists: {name}")
        if asked.get("exists") and name not in self.documents:
            raise ApiError(404, "NOT_FOUND", f"No document to update: {name}")

    def _write(self, documents, write):
        if "delete" in write:
            documents.pop(write["delete"], None)
            return
        name, given = write["update"]["name"], write["update"]["fields"]
        before = documents.get(name, {}).get("fields", {})
        fields = dict(given)
        if "updateMask" in write:
            mask = write["updateMask"]["fieldPaths"]
            assert set(given) <= set(mask), "a field that the mask lacks is not written"
            fields = {key: value for key, value in before.items() if key not in mask} | given
        size = len(name) + 32
        for key, value in fields.items():
            ((kind, held),) = value.items()
            assert (kind, type(held)) in (("stringValue", str), ("integerValue", str))
            length = len(held.encode()) + 1 if kind == "stringValue" else 8
            if length > VALUE_BYTES:
                raise invalid(f'The value of property "{key}" is longer than {VALUE_BYTES} bytes.')
            size += len(key) + 1 + length
        if size > DOCUMENT_BYTES:
            raise invalid(
                f"Document '{name}' cannot be written because its size ({size:,} bytes) exceeds "
                f"the maximum allowed size of {DOCUMENT_BYTES:,} bytes."
            )
        documents[name] = {"name": name, "fields": fields, "updateTime": self._time()}

    def _query(self, parent, body):
        query = dict(body["structuredQuery"])
        (source,) = query.pop("from")
        place = f"{parent}/{source['collectionId']}/"
        found = [one for name, one in sorted(self.documents.items()) if name.startswith(place)]
        where = query.pop("where")
        filters = where["compositeFilter"]["filters"] if "compositeFilter" in where else [where]
        for one in filters:
            found = [document for document in found if _holds(one["fieldFilter"], document)]
        order = [by["field"]["fieldPath"] for by in query.pop("orderBy", [])] or ["__name__"]
        found.sort(key=lambda document: [_value(document, by) for by in order])
        if start := query.pop("startAt", None):
            assert start["before"] is False
            after = [_held(value) for value in start["values"]]
            found = [one for one in found if [_value(one, by) for by in order] > after]
        found = found[: query.pop("limit", None)]
        if select := query.pop("select", None):
            wanted = {one["fieldPath"] for one in select["fields"]}
            found = [_selected(document, wanted) for document in found]
        assert not query, f"a query of which this knows nothing: {query}"
        self.billed["read"] += max(1, len(found))
        time = self._time()
        return [{"document": document, "readTime": time} for document in found] or [
            {"readTime": time}
        ]

    def _time(self):
        self._writes += 1
        return (EPOCH + timedelta(microseconds=self._writes)).isoformat()


def _held(value):
    ((kind, held),) = value.items()
    return int(held) if kind == "integerValue" else held


def _value(document, path):
    if path == "__name__":
        return document["name"]
    return _held(document["fields"][path]) if path in document["fields"] else None


def _holds(condition, document):
    held, given = _value(document, condition["field"]["fieldPath"]), _held(condition["value"])
    if held is None:
        return False
    return {
        "GREATER_THAN_OR_EQUAL": held >= given,
        "LESS_THAN": held < given,
        "LESS_THAN_OR_EQUAL": held <= given,
    }[condition["op"]]


def _selected(document, wanted):
    fields = {key: value for key, value in document["fields"].items() if key in wanted}
    return {"name": document["name"], "fields": fields} if fields else {"name": document["name"]}


# --- Cloud Tasks -----------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Task:
    """A task in its queue."""

    queue: str
    name: str
    url: str
    account: str
    body: bytes
    due_ms: int
    retries: int = 0


@dataclass(slots=True, kw_only=True)
class Tasks:
    """The queues of a region.

    now_ms: the time.
    queues: the full names of those there are.
    """

    now_ms: object
    queues: set
    waiting: list = field(default_factory=list)
    names: set = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, path, body):
        queue = path.removeprefix("/v2/").removesuffix("/tasks")
        if queue not in self.queues:
            raise ApiError(404, "NOT_FOUND", "Queue does not exist.")
        given = dict(body["task"])
        http = given.pop("httpRequest")
        assert (http["httpMethod"], http["headers"]["Content-Type"]) == ("POST", "application/json")
        payload = base64.b64decode(http["body"], validate=True)
        if len(payload) + len(http["url"]) > TASK_BYTES:
            raise invalid("Task size too large")
        seconds = re.fullmatch(r"(\d+)s", given.pop("dispatchDeadline"))
        if int(seconds[1]) not in DEADLINES_S:
            raise invalid("Task.dispatchDeadline must be between [15s, 30m]")
        now = EPOCH + timedelta(milliseconds=self.now_ms())
        due = datetime.fromisoformat(given.pop("scheduleTime", None) or now.isoformat())
        if due - now > LONGEST:
            raise invalid("Task.scheduleTime must be no more than 720h from now")
        with self._lock:
            name = given.pop("name", f"{queue}/tasks/{len(self.names)}")
            assert re.fullmatch(re.escape(queue) + "/tasks/[A-Za-z0-9_-]{1,500}", name)
            if name in self.names:
                raise ApiError(409, "ALREADY_EXISTS", "Requested entity already exists")
            self.names.add(name)
            assert not given, f"a task of which this knows nothing: {given}"
            token = http["oidcToken"]
            assert token["audience"] == http["url"]
            self.waiting.append(
                Task(
                    queue=queue, name=name, url=http["url"], account=token["serviceAccountEmail"],
                    body=payload, due_ms=(due - EPOCH) // timedelta(milliseconds=1),
                )
            )  # fmt: skip
        return {"name": name}


# --- the server ------------------------------------------------------------------------------------


class GoogleCloud:
    """All of it on one port, and a metadata server for each account on a port of its own.

    Args:
        accounts: of functions.
        grants: triples of an account, what it may do, and to what: a queue, an account, or a database.
        queues: the full names of those there are.
        now_ms: the time.
    """

    def __init__(self, accounts, grants, queues, now_ms):
        self.firestore, self.tasks = Firestore(), Tasks(now_ms=now_ms, queues=set(queues))
        self.grants, self.calls, self.refuse = set(grants), 0, {}
        self._lock = threading.Lock()
        self._servers, self.broken, self.withdrawn, self.tokens = [], [], set(), 0
        self.host = self._serve(self._answer)
        self.metadata = {
            account: self._serve(
                lambda path, headers, _, account=account: self._token(account, path, headers)
            )
            for account in accounts
        }

    def close(self):
        """Ends it. What it was asked and does not know fails the test."""
        for server in self._servers:
            server.shutdown()
            server.server_close()
        assert not self.broken, self.broken[0]

    def environment(self, account):
        """The variables that lead a function here."""
        return {
            "FIRESTORE_EMULATOR_HOST": self.host,
            "CLOUD_TASKS_EMULATOR_HOST": self.host,
            "GCE_METADATA_HOST": self.metadata[account],
        }

    def _answer(self, path, headers, raw):
        account = self._account(headers["Authorization"])
        with self._lock:
            self.calls += 1
        for part, error in list(self.refuse.items()):
            if part in path:
                del self.refuse[part]
                raise error
        body = json.loads(raw)
        if path.startswith("/v1/"):
            if len(raw) > REQUEST_BYTES:
                raise invalid(f"Request payload size exceeds the limit: {REQUEST_BYTES} bytes.")
            database = path.removeprefix("/v1/").partition("/documents")[0]
            self._need(account, DOCUMENTS, database)
            return self.firestore(path, body)
        queue = path.removeprefix("/v2/").removesuffix("/tasks")
        self._need(account, CREATE, queue)
        self._need(account, ACT_AS, body["task"]["httpRequest"]["oidcToken"]["serviceAccountEmail"])
        return self.tasks(path, body)

    def _account(self, authorization):
        token = authorization.removeprefix("Bearer ")
        with suppress(ValueError, KeyError):
            account = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))["sub"]
            if account not in self.withdrawn:
                return account
            self.withdrawn.discard(account)
        raise ApiError(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")

    def _need(self, account, permission, resource):
        if (account, permission, resource) not in self.grants:
            text = f"{account} lacks {permission} on {resource}"
            raise ApiError(403, "PERMISSION_DENIED", text)

    def _token(self, account, path, headers):
        """A token that Firestore's emulator takes, too: not signed."""
        assert path == "/computeMetadata/v1/instance/service-accounts/default/token"
        if headers["Metadata-Flavor"] != "Google":
            raise ApiError(403, "", "Missing required header: Metadata-Flavor")
        self.tokens += 1
        claims = {"sub": account, "aud": "p", "iss": "https://securetoken.google.com/p", "iat": 0}
        parts = ({"alg": "none", "typ": "JWT"}, {**claims, "exp": 2**33, "jti": self.tokens})
        text = "".join(_encoded(part) + "." for part in parts)
        return {"access_token": text, "expires_in": 3599, "token_type": "Bearer"}

    def _serve(self, answer):
        cloud = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                raw = self.rfile.read(length)
                if len(raw) < length:
                    self.close_connection = True  # a process that asked has died
                    return
                try:
                    code, body = 200, answer(self.path, self.headers, raw)
                except ApiError as error:
                    code, body = error.code, error.body
                except Exception:  # noqa: BLE001  `close` tells it
                    cloud.broken.append(traceback.format_exc())
                    code, body = 501, {}
                text = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST  # noqa: N815  the library calls it so

            def log_message(self, *arguments):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                """A process that asked has died."""

        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self._servers.append(server)
        return f"127.0.0.1:{server.server_port}"


def _encoded(part):
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
