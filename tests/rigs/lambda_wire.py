"""What AWS Lambda says on the wire: refusals, signatures, events, destination records.

Runs inside the rig's environment (see `lambda_cloud.py`).
"""

from __future__ import annotations

import hmac
import json
import re
import time
import uuid
from datetime import UTC, datetime

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from lambda_account import ACCOUNT, EXPIRED, FORBIDDEN, KEYS
from lambda_sandbox import Event

MAX_SYNC_BYTES, MAX_ASYNC_BYTES = 6_291_456, 1_048_576
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request, ?"
    r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
)
MOTO = ("ak", "sk")  # what moto's state machines sign with
SECRETS = dict([KEYS, FORBIDDEN, EXPIRED, MOTO])


class Refused(Exception):  # noqa: N818 (it is an answer, no error of ours)
    """An answer that is no success, as AWS words it."""

    def __init__(self, status, kind, text, *, headers=None, **fields):
        super().__init__(text)
        self.status = status
        self.headers = {
            "x-amzn-ErrorType": kind, "Content-Type": "application/json", **(headers or {})
        }  # fmt: skip
        self.body = json.dumps(
            {**fields, "Message": text, "message": text, "__type": kind}
        ).encode()


def throttled():
    return Refused(
        429, "TooManyRequestsException", "Rate Exceeded.", headers={"Retry-After": "1"},
        Reason="ReservedFunctionConcurrentInvocationLimitExceeded", Type="User",
    )  # fmt: skip


def authorized(request, target, body):
    """The region a request is signed for, if the signature holds. Raises `Refused`.

    Args:
        request: werkzeug's.
        target: Path and query as they were sent, which is what is signed.
        body: The whole body.
    """
    header = request.headers.get("Authorization", "")
    if not header:
        raise Refused(403, "MissingAuthenticationTokenException", "Missing Authentication Token")
    found = AUTHORIZATION.fullmatch(header)
    if found is None:
        text = "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature'."
        raise Refused(400, "IncompleteSignatureException", text)
    key, region, service, names, signature = found.groups()
    if key not in SECRETS:
        text = "The security token included in the request is invalid."
        raise Refused(403, "UnrecognizedClientException", text)
    signed = set(names.split(";"))
    copy = AWSRequest(
        method=request.method, url=f"http://{request.host}{target}", data=body,
        headers={name: value for name, value in request.headers if name.lower() in signed},
    )  # fmt: skip
    copy.context["timestamp"] = request.headers.get("X-Amz-Date", "")
    signer = SigV4Auth(Credentials(key, SECRETS[key]), service, region)
    expected = signer.signature(signer.string_to_sign(copy, signer.canonical_request(copy)), copy)
    if not hmac.compare_digest(expected, signature):
        text = (
            "The request signature we calculated does not match the signature you provided. "
            "Check your AWS Secret Access Key and signing method."
        )
        raise Refused(403, "InvalidSignatureException", text)
    if key == EXPIRED[0]:
        text = "The security token included in the request is expired"
        raise Refused(403, "ExpiredTokenException", text)
    if key == FORBIDDEN[0]:
        text = (
            f"User: arn:aws:iam::{ACCOUNT}:user/forbidden is not authorized to perform this action "
            "because no identity-based policy allows it"
        )
        raise Refused(403, "AccessDeniedException", text)
    return region


def checked(kind, body):
    """The payload of an invocation. Raises `Refused`."""
    if kind not in {"RequestResponse", "Event"}:
        text = f"1 validation error detected: Value '{kind}' at 'invocationType' is not valid"
        raise Refused(400, "InvalidParameterValueException", text)
    if kind == "RequestResponse" and len(body) > MAX_SYNC_BYTES:
        text = (
            f"Request must be smaller than {MAX_SYNC_BYTES} bytes for the InvokeFunction operation"
        )
        raise Refused(413, "RequestEntityTooLargeException", text, Type="User")
    if kind == "Event" and len(body) > MAX_ASYNC_BYTES:
        text = (
            f"{len(body)} byte payload is too large for the Event invocation type "
            f"(limit {MAX_ASYNC_BYTES} bytes)"
        )
        raise Refused(413, "RequestEntityTooLargeException", text, Type="User")
    try:
        json.loads(body or b"{}")
    except ValueError as error:
        text = f"Could not parse request body into json: Could not parse payload into json: {error}"
        raise Refused(400, "InvalidRequestContentException", text, Type="User") from error
    return body or b"{}"


def version(function):
    """`$LATEST`, or the number of what was published."""
    return str(function.version)


def event(function, payload, context, request_id):
    """What the runtime API hands to the sandbox."""
    deadline_ms = time.time_ns() // 1_000_000 + int(function.timeout) * 1000
    headers = {
        "Lambda-Runtime-Aws-Request-Id": request_id,
        "Lambda-Runtime-Deadline-Ms": str(deadline_ms),
        "Lambda-Runtime-Invoked-Function-Arn": function.function_arn,
        "Lambda-Runtime-Trace-Id": f"Root=1-{time.time_ns() // 10**9:08x}-{uuid.uuid4().hex[:24]};Sampled=0",
    }
    if context:
        headers["Lambda-Runtime-Client-Context"] = context
    return Event(id=request_id, payload=payload, headers=headers)


def record(function, payload, request_id, condition, count, ended):
    """What a destination gets.

    https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    suffix = f":{version(function)}"  # moto's ARN of a published version has it already
    told = {
        "version": "1.0",
        "timestamp": now,
        "requestContext": {
            "requestId": request_id,
            "functionArn": f"{function.function_arn.removesuffix(suffix)}{suffix}",
            "condition": condition,
            "approximateInvokeCount": count,
        },
        "requestPayload": json.loads(payload),
    }
    if ended is not None:
        told["responseContext"] = {"statusCode": 200, "executedVersion": version(function)}
        if ended.error:
            told["responseContext"]["functionError"] = ended.error
        told["responsePayload"] = json.loads(ended.payload)
    return told
