"""The cloud of `lambda_rig.py`, as a process: AWS' Invoke over functions that really run.

Runs inside the rig's own environment, which has moto and awslambdaric. moto is the control plane
(functions, versions, aliases, concurrency, destinations, queues, state machines); every invocation,
whoever asks for it, is answered here by a sandbox. Every request's signature is verified, as AWS
does. Concurrency and destinations are a function's, whatever its qualifier.

Prints its address as one line of JSON, and ends, with its sandboxes, when its standard input closes.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import logging
import os
import re
import sys
import tempfile
import threading
import time
import uuid
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lambda_wire as wire
from lambda_account import ACCOUNT, KEYS, ROLE_NAME
from lambda_sandbox import Deployed, Sandbox
from moto.awslambda.exceptions import UnknownAliasException, UnknownFunctionException
from moto.awslambda.models import LambdaBackend, lambda_backends
from moto.core.config import default_user_config
from moto.iam.models import iam_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.sqs.models import sqs_backends
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request

INVOKE = re.compile(r"/2015-03-31/functions/([^/]+)/invocations/?")
TARGET = re.compile(
    r"(arn:aws:lambda:[a-z0-9-]+:)?(\d{12}:)?(function:)?(?P<name>[\w-]+)(:(?P<qualifier>[\w$-]+))?"
)
LOG = logging.getLogger("lambda_cloud")
RETRIES, MAX_AGE_S = 2, 21_600  # AWS' own defaults


class Functions:
    """Runs what moto knows of: finds, limits, invokes."""

    def __init__(self, folder):
        self._folder, self._lock = Path(folder), threading.Lock()
        self._idle, self._running, self._calls, self._all = {}, Counter(), Counter(), set()
        self.url = ""

    def calls(self, name):
        """How many events handlers of this function have taken."""
        return self._calls[name]

    def found(self, region, named, qualifier=None):
        """The function, as moto has it. Raises `wire.Refused`."""
        target = TARGET.fullmatch(named)
        if target is None:
            text = f"1 validation error detected: Value '{named}' at 'functionName' is not valid"
            raise wire.Refused(400, "ValidationException", text)
        qualifier = target["qualifier"] or qualifier
        arn = f"arn:aws:lambda:{region}:{ACCOUNT}:function:{target['name']}"
        try:
            return lambda_backends[ACCOUNT][region].get_function(target["name"], qualifier)
        except (UnknownFunctionException, UnknownAliasException) as error:
            whole = f"{arn}:{qualifier}" if qualifier else arn
            text = f"Function not found: {whole}"
            raise wire.Refused(404, "ResourceNotFoundException", text) from error

    def run(self, function, payload, context, request_id):
        """Runs one event in a sandbox of its own for as long as it takes. Raises `wire.Refused`."""
        deployed, name = self._deployed(function), function.function_name
        reserved = _latest(function).reserved_concurrency
        with self._lock:
            if reserved is not None and self._running[name] >= int(reserved):
                raise wire.throttled()
            self._running[name] += 1
            kept = self._idle.setdefault(deployed, [])
            sandbox = kept.pop() if kept else None
        try:
            if sandbox is not None and not sandbox.alive:  # it has ended between two events
                self._ended(sandbox)
                sandbox = None
            sandbox = sandbox or self._made(deployed, function.region)
            ended = sandbox.run(wire.event(function, payload, context, request_id))
            if ended.reusable:
                kept.append(sandbox)
            else:
                self._ended(sandbox)
        finally:
            with self._lock:
                self._running[name] -= 1
        return ended

    def end(self):
        for sandbox in list(self._all):
            sandbox.end()

    def _ended(self, sandbox):
        self._all.discard(sandbox)
        sandbox.end()

    def _taken(self, name):
        with self._lock:
            self._calls[name] += 1

    def _made(self, deployed, region):
        keys, secret = KEYS
        environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "AWS_ACCESS_KEY_ID": keys, "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_DEFAULT_REGION": region, "AWS_REGION": region, "AWS_ENDPOINT_URL": self.url,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info.major}.{sys.version_info.minor}",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(deployed.memory_mb),
            "AWS_LAMBDA_FUNCTION_NAME": deployed.name,
            "AWS_LAMBDA_FUNCTION_VERSION": deployed.version,
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{deployed.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": uuid.uuid4().hex,
            "LAMBDA_TASK_ROOT": str(deployed.folder), "_HANDLER": deployed.handler,
            **dict(deployed.environment),
        }  # fmt: skip
        sandbox = Sandbox(deployed, environment, self._taken)
        self._all.add(sandbox)
        return sandbox

    def _deployed(self, function):
        folder = self._folder / re.sub(r"\W", "_", function.code_sha_256)
        with self._lock:
            if not folder.exists():
                zipfile.ZipFile(io.BytesIO(function.code_bytes)).extractall(folder)
        return Deployed(
            name=function.function_name, version=wire.version(function), handler=function.handler,
            folder=folder, memory_mb=int(function.memory_size), timeout_s=int(function.timeout),
            environment=tuple(sorted(function.environment_vars.items())),
        )  # fmt: skip


class Deliveries:
    """Events that nobody waits for: run, retried, and told to their destination."""

    def __init__(self, functions, minute_s):
        self._functions, self._minute_s = functions, minute_s
        self._workers, self._over = ThreadPoolExecutor(16), threading.Event()

    def accept(self, function, payload, context, request_id):
        self._workers.submit(self._deliver, function, payload, context, request_id)

    def end(self):
        self._over.set()
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _deliver(self, function, payload, context, request_id):
        try:
            condition, count, ended = self._attempted(function, payload, context, request_id)
            self._tell(
                function, wire.record(function, payload, request_id, condition, count, ended)
            )
        except Exception:
            LOG.exception("event %s of %s is lost", request_id, function.function_name)

    def _attempted(self, function, payload, context, request_id):
        """Runs it until it succeeds or all is spent: condition, invocations, how the last ended."""
        settings = _settings(function)
        retries = settings.get("MaximumRetryAttempts", RETRIES)
        age_s = settings.get("MaximumEventAgeInSeconds", MAX_AGE_S) / 60 * self._minute_s
        until = time.monotonic() + age_s
        count, ended = 0, None
        while not self._over.is_set():
            try:
                ended = self._functions.run(function, payload, context, request_id)
            except wire.Refused:  # throttled, which is no attempt; but no event waits for ever
                if time.monotonic() >= until:
                    return "EventAgeExceeded", count, ended
            else:
                count += 1
                if ended.error is None:
                    return "Success", count, ended
                if count > retries:
                    return "RetriesExhausted", count, ended
            self._over.wait(max(count, 1) * self._minute_s)
        raise RuntimeError("the rig ended before the event did")

    def _tell(self, function, record):
        succeeded = record["requestContext"]["condition"] == "Success"
        destinations = _settings(function).get("DestinationConfig", {})
        arn = destinations.get("OnSuccess" if succeeded else "OnFailure", {}).get("Destination")
        if not arn:
            return
        _, _, service, region, account, queue = arn.split(":", 5)
        if service != "sqs":
            raise ValueError(f"this rig delivers to queues only, not to {arn}")
        sqs_backends[account][region].send_message(queue, json.dumps(record))


class Cloud:
    """The WSGI application: invocations are ours, all else is moto's."""

    def __init__(self, functions, deliveries):
        self._functions, self._deliveries = functions, deliveries
        self._moto = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ, start_response):
        request = Request(environ)
        body = request.get_data()
        environ["wsgi.input"] = io.BytesIO(body)
        if request.path == "/rig/calls":
            count = self._functions.calls(request.args["name"])
            return _answer(start_response, 200, {}, json.dumps(count).encode())
        request_id = str(uuid.uuid4())
        try:
            region = wire.authorized(request, environ["RAW_URI"], body)
            invoked = INVOKE.fullmatch(request.path)
            if request.method != "POST" or invoked is None:
                return self._moto(environ, start_response)
            status, headers, answer = self._invoke(request, region, invoked[1], body, request_id)
        except wire.Refused as refused:
            status, headers, answer = refused.status, refused.headers, refused.body
        return _answer(start_response, status, {"x-amzn-RequestId": request_id, **headers}, answer)

    def _invoke(self, request, region, named, body, request_id):
        kind = request.headers.get("X-Amz-Invocation-Type", "RequestResponse")
        function = self._functions.found(region, named, request.args.get("Qualifier"))
        if kind == "DryRun":
            return 204, {}, b""
        payload, context = wire.checked(kind, body), _context(request)
        if kind == "Event":
            self._deliveries.accept(function, payload, context, request_id)
            return 202, {}, b""
        ended = self._functions.run(function, payload, context, request_id)
        headers = {
            "X-Amz-Executed-Version": wire.version(function),
            "Content-Type": "application/json",
        }
        if ended.error:
            headers["X-Amz-Function-Error"] = ended.error
        if request.headers.get("X-Amz-Log-Type") == "Tail":
            headers["X-Amz-Log-Result"] = base64.b64encode(ended.log).decode()
        return 200, headers, ended.payload


def _context(request):
    encoded = request.headers.get("X-Amz-Client-Context", "")
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        text = "Client context must be a valid Base64-encoded JSON object."
        raise wire.Refused(400, "InvalidRequestContentException", text) from error


def _latest(function):
    return lambda_backends[ACCOUNT][function.region].get_function(function.function_name)


def _settings(function):
    configured = _latest(function).event_invoke_config
    return configured[-1].config if configured else {}


def _answer(start_response, status, headers, body):
    start_response(f"{status} -", [*headers.items(), ("Content-Length", str(len(body)))])
    return [body]


class _Handler(WSGIRequestHandler):
    disable_nagle_algorithm = True  # with small writes it costs 40 ms a request
    wbufsize = -1

    def log_request(self, *arguments):
        """Nobody reads it."""


def _by_others(functions):
    """What in moto invokes functions (queues' event sources, mostly) invokes them here, too."""

    def invoke(self, function_name, qualifier, body, headers, response_headers):
        function = functions.found(self.region_name, function_name, qualifier)
        ended = functions.run(function, (body or "{}").encode(), "", str(uuid.uuid4()))
        if ended.error:
            response_headers["x-amz-function-error"] = ended.error
        return ended.payload

    LambdaBackend.invoke = invoke


def main():
    default_user_config["stepfunctions"]["execute_state_machine"] = True
    minute_s = float(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        functions = Functions(folder)
        deliveries = Deliveries(functions, minute_s)
        _by_others(functions)
        iam_backends[ACCOUNT]["aws"].create_role(ROLE_NAME, "{}", "/", None, "", {}, 3600)
        server = make_server(
            "127.0.0.1", 0, Cloud(functions, deliveries), threaded=True, request_handler=_Handler
        )
        functions.url = f"http://127.0.0.1:{server.server_port}"
        os.environ["MOTO_PORT"] = str(server.server_port)  # where state machines call functions
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdout.write(json.dumps({"url": functions.url}) + "\n")
        sys.stdout.flush()
        sys.stdin.buffer.read()
        deliveries.end()
        functions.end()
    os._exit(0)  # what is still under way is not waited for


if __name__ == "__main__":
    main()
