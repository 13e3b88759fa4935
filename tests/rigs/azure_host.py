"""Plays the Functions host for one bundle: what its queues hold goes to its functions, in Azure's own types.

    python driver.py FOLDER    with AzureWebJobsStorage in the environment

A request is a line of JSON on standard input, and so is its answer. Each call of a function runs in a
process of its own, so that a death is one: `die_at` ends it before its n-th request to the storage.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import traceback
from contextlib import suppress
from pathlib import Path

FOLDER = Path(sys.argv[1])
sys.path.insert(0, str(FOLDER))

import azure.functions as func  # noqa: E402
from azure.core.exceptions import ResourceNotFoundError  # noqa: E402
from azure.core.pipeline.transport import RequestsTransport  # noqa: E402
from azure.data.tables import TableServiceClient  # noqa: E402
from azure.functions.queue import QueueMessage  # noqa: E402
from azure.functions.timer import TimerRequest  # noqa: E402
from azure.storage.queue import (  # noqa: E402
    QueueClient,
    QueueServiceClient,
    TextBase64DecodePolicy,
    TextBase64EncodePolicy,
)

from xingqiao.infra.deploy.hosted.azure import (  # noqa: E402
    CONNECTION,
    Hosted,
    SystemClock,
    function_app,
)
from xingqiao.infra.deploy.hosted.azure_account import Account  # noqa: E402
from xingqiao.infra.deploy.hosted.azure_table import AzureTable  # noqa: E402
from xingqiao.infra.deploy.hosted.programs import is_program  # noqa: E402

STORAGE = json.loads((FOLDER / "deployed.json").read_text("utf-8"))["storage"]
LAWS = Path(__file__).parents[1] / "kit/deploy/tables.py"
DIED = 9
LOOKS = 2_000  # each is a request, so that time passes
DELAY, BODY = "delay", "body"  # of a message that comes later
STEP_MS = 180_000  # longer than a conductor is waited for


class Clock:
    """The machine's time, and what has been added to it."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def now_ms(self) -> int:
        return SystemClock.now_ms() + self.ahead_ms


class Host:
    """The functions of a bundle, and the queues that trigger them."""

    def __init__(self) -> None:
        self.clock = Clock()
        hosted = Hosted(FOLDER, os.environ[CONNECTION], self.clock, elsewhere())
        functions = function_app(hosted).get_functions()
        self.functions = {made.get_function_name(): made.get_user_function() for made in functions}
        service = QueueServiceClient.from_connection_string(os.environ[CONNECTION])
        self.queues = {
            made.get_function_name(): service.get_queue_client(
                trigger.queue_name,
                message_encode_policy=TextBase64EncodePolicy(),
                message_decode_policy=TextBase64DecodePolicy(),
            )
            for made in functions
            if (trigger := made.get_trigger()).type == "queueTrigger"
        }
        self.calls, self.die_at, self.lose = 0, None, False
        self.delayed = []  # messages whose time has not come: when, for which function, its queue, the message
        mark_delays()

    def http(self, method, path, headers=None, body=""):
        """One request, in this process. The answer's status, body and headers."""
        answer = self.functions["http"](asked(method, path, headers, body))
        return {
            "status": answer.status_code,
            "body": json.loads(answer.get_body()),
            "headers": dict(answer.headers),
        }

    def die(self, die_at, method, path, headers=None, body=""):
        """One request, whose process ends before its n-th request to the storage. How many have."""
        self.calls, self.die_at = 0, die_at
        return self._call("http", asked(method, path, headers, body))

    def conduct(self, message):
        """Has the conductor's function take a message. How many it leaves in its queue, which is emptied."""
        self._call("conductor", func_message(json.dumps(message), 1))
        queue = self.queues["conductor"]
        count = queue.get_queue_properties().approximate_message_count
        queue.clear_messages()
        return count

    def run(self, execution, die_at=None, twice=False, lose=False):
        """Calls functions until an execution has ended and nothing is left. How it stands then.

        die_at: the request to the storage, counted over all calls, before which a process ends.
        twice: each message comes twice.
        lose: the message with which a process has died does not come again.
        """
        self.calls, self.die_at, self.lose = 0, die_at, lose
        deaths = 0
        for _ in range(LOOKS):
            found, died = self._turn(twice)
            deaths += died
            if found:
                continue
            if not any(self._waiting(queue) for queue in self.queues.values()):
                seen = self.http("GET", f"executions/{execution}")["body"]
                if seen["status"] != "running":
                    return {"seen": seen, "calls": self.calls, "deaths": deaths}
                self.clock.ahead_ms += STEP_MS
                deaths += self._call("sweep", TimerRequest())
        raise AssertionError("it does not end")

    def work(self):
        """Deals with one message, if there is one. Whether there was."""
        return self._turn(twice=False)[0]

    def wait(self, ms):
        """Lets time pass, and a sweep come."""
        self.clock.ahead_ms += ms
        self._call("sweep", TimerRequest())

    def left(self):
        """How many rows each table has, but for the programs, which stay."""
        service = TableServiceClient.from_connection_string(os.environ[CONNECTION])
        rows = {
            table.name: [
                row["PartitionKey"] for row in service.get_table_client(table.name).list_entities()
            ]
            for table in service.list_tables()
        }
        table = AzureTable(Account(os.environ[CONNECTION], STORAGE))
        executions = rows[f"{STORAGE}executions"]
        programs = {id for id in set(executions) if is_program(table.load(id))}
        rows[f"{STORAGE}executions"] = [id for id in executions if id not in programs]
        return {name: len(rows[STORAGE + name]) for name in ("executions", "due", "large")}

    def laws(self):
        """What the table does against each law of a `Table`; None if nothing."""
        laws = runpy.run_path(str(LAWS))["LAWS"]
        return {law.__name__: broken(law) for law in laws}

    def bindings(self):
        """What each function is bound to, as the Functions host is told by the app's own file."""
        functions = importlib.import_module("function_app").app.get_functions()
        return {
            made.get_function_name(): json.loads(made.get_function_json()) for made in functions
        }

    def _turn(self, twice):
        """Deals with one message. Whether there was one, and whether its function has died."""
        for name, queue in self.queues.items():
            with suppress(ResourceNotFoundError):
                while (message := queue.receive_message(visibility_timeout=600)) is not None:
                    delay_s, message.content = delay_of(message.content)
                    if not delay_s:
                        return True, self._deal(name, queue, message, twice)
                    due_ms = self.clock.now_ms() + 1000 * delay_s
                    self.delayed.append((due_ms, name, queue, message))
        if not self.delayed:
            return False, 0
        self.delayed.sort(key=lambda one: one[0])
        due_ms, *first = self.delayed.pop(0)
        self.clock.ahead_ms += max(0, due_ms - self.clock.now_ms())
        return True, self._deal(*first, twice)

    def _deal(self, name, queue, message, twice):
        """Hands a message to its function. 1 if that has died, and then the message comes again."""
        given = func_message(message.content, message.dequeue_count)
        died = self._call(name, given)
        if twice and not died:
            died = self._call(name, given)
        if died and not self.lose:
            self.clock.ahead_ms += STEP_MS
            queue.update_message(message, visibility_timeout=0)
        else:
            queue.delete_message(message)
        return died

    def _call(self, name, argument):
        """Calls a function in a process of its own. 1 if it has died."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                Dying(self, writer).patch()
                self.functions[name](argument)
                code = 0
            finally:
                os.write(writer, b".")
                os._exit(code)
        os.close(writer)
        with os.fdopen(reader, "rb") as counted:
            self.calls += len(counted.read()) - 1
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == DIED:
            self.die_at = None
        elif status:
            raise AssertionError(f"{name} has failed, see standard error")
        return int(status == DIED)

    def _waiting(self, queue):
        with suppress(ResourceNotFoundError):
            return queue.get_queue_properties().approximate_message_count
        return 0


def elsewhere():
    """What makes the actions of functions on other clouds, as the app's own file has it; None if it has none."""
    if "elsewhere=" not in (FOLDER / "function_app.py").read_text("utf-8"):
        return None
    return importlib.import_module("xingqiao.infra.deploy.elsewhere.azure").remote_action


def mark_delays():
    """Has messages that are to come later say so: here time passes by the clock, not by itself."""
    send = QueueClient.send_message

    def marked(client, content, *, visibility_timeout=None, **options):
        if visibility_timeout:
            content = json.dumps({DELAY: visibility_timeout, BODY: content})
        return send(client, content, **options)

    QueueClient.send_message = marked


def delay_of(content):
    """The seconds that a message is to come later, and the message itself."""
    document = json.loads(content)
    if isinstance(document, dict) and DELAY in document:
        return document[DELAY], document[BODY]
    return 0, content


def broken(law):
    """How the table breaks a law."""
    try:
        law(AzureTable(Account(os.environ[CONNECTION], "laws")))
    except Exception:  # noqa: BLE001  it is told in the answer
        return traceback.format_exc()
    return None


class Dying:
    """Counts the requests of a process to the storage, and ends it before one of them."""

    def __init__(self, host, writer):
        self.host, self.writer, self.calls = host, writer, host.calls

    def patch(self):
        """Stands before every request that this process sends."""
        send = RequestsTransport.send

        def counted(transport, request, **options):
            makes = request.url.rstrip("/").endswith("/Tables") or (
                request.method == "PUT" and "/messages" not in request.url
            )
            if not makes:  # what makes a table or a queue is done once, ever
                if self.calls == self.host.die_at:
                    os.write(self.writer, b".")
                    os._exit(DIED)
                self.calls += 1
                os.write(self.writer, b".")
            return send(transport, request, **options)

        RequestsTransport.send = counted


def asked(method, path, headers, body):
    """A request as the Functions host gives it."""
    return func.HttpRequest(
        method, f"https://app.example/{path}", headers=headers or {}, route_params={"path": path},
        body=body.encode(),
    )  # fmt: skip


def func_message(body, delivery):
    """A message as the Functions host gives it."""
    return QueueMessage(id="0", body=body, dequeue_count=delivery, pop_receipt="0")


def main():
    host = Host()
    for line in sys.stdin:
        verb, arguments = json.loads(line)
        print(json.dumps(getattr(host, verb)(**arguments)), flush=True)  # noqa: T201  it is asked so


if __name__ == "__main__":
    main()
