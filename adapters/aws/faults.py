"""AWS' errors in the terms of the one taxonomy of failures.

No error of AWS says whether a retry may help, so the table does: Lambda's Invoke alone has 45 of them
(https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html#API_Invoke_Errors). AWS' text about a signature
quotes the signed request, with tokens, and is not passed on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import (
    BAD_RESPONSE,
    CRASHED,
    INVALID_REQUEST,
    LOST,
    NOT_FOUND,
    PAYLOAD_TOO_LARGE,
    PERMISSION,
    THROTTLED,
    UNAVAILABLE,
)
from ..port import Fault, error_document
from ..reading import MAX_SHOWN, parsed, retry_after_ms

if TYPE_CHECKING:
    from ...actions import MayHaveRun
    from ...composer import JSON
    from ..port import Report, Response

REFUSALS: dict[tuple[str, MayHaveRun, bool], str] = {
    (THROTTLED, "no", True): """
        TooManyRequestsException ThrottlingException Throttling ThrottledException RequestThrottled
        RequestThrottledException RequestLimitExceeded LimitExceededException OverLimit SlowDown
        ProvisionedThroughputExceededException ExecutionLimitExceeded KmsThrottled KmsThrottlingException""",
    (UNAVAILABLE, "no", True): """
        ResourceConflictException ResourceNotReadyException CodeArtifactUserPendingException
        SnapStartNotReadyException SnapStartTimeoutException SnapStartRegenerationFailureException
        EC2ThrottledException EC2UnexpectedException ENILimitReachedException ENINotReadyException
        SubnetIPAddressLimitReachedException EFSMountConnectivityException EFSMountTimeoutException
        S3FilesMountConnectivityException S3FilesMountTimeoutException""",
    (UNAVAILABLE, "no", False): """
        ServiceQuotaExceededException RuntimeAliasDeletedException RuntimeVersionDeletedException
        CodeArtifactUserDeletedException CodeArtifactUserFailedException EC2AccessDeniedException
        EFSMountFailureException S3FilesMountFailureException InvalidRuntimeException
        InvalidSecurityGroupIDException InvalidSubnetIDException InvalidZipFileException
        KMSAccessDeniedException KMSDisabledException KMSInvalidStateException KMSNotFoundException
        KmsAccessDenied KmsAccessDeniedException KmsDisabled KmsInvalidKeyUsage KmsOptInRequired KmsInvalidState KmsInvalidStateException
        KmsNotFound StateMachineDeleting""",
    (CRASHED, "no", False): "SnapStartException",
    (NOT_FOUND, "no", False): """
        ResourceNotFoundException StateMachineDoesNotExist ExecutionDoesNotExist QueueDoesNotExist""",
    (PERMISSION, "no", False): """
        AccessDeniedException AccessDenied NotAuthorized OptInRequired UnrecognizedClientException
        InvalidClientTokenId ExpiredTokenException ExpiredToken InvalidSignatureException
        SignatureDoesNotMatch IncompleteSignatureException IncompleteSignature InvalidSecurity
        MissingAuthenticationTokenException MissingAuthenticationToken RequestExpired
        RequestTimeTooSkewed InvalidAccessKeyId InvalidToken AuthFailure""",
    (PAYLOAD_TOO_LARGE, "no", False): """
        RequestTooLargeException RequestEntityTooLargeException
        SerializedRequestEntityTooLargeException""",
    (INVALID_REQUEST, "no", False): """
        InvalidRequestContentException InvalidParameterValueException ValidationException
        ModeNotSupportedException NoPublishedVersionException RecursiveInvocationException
        UnsupportedMediaTypeException DurableExecutionAlreadyStartedException
        ExecutionAlreadyExists InvalidArn InvalidExecutionInput InvalidName InvalidAddress
        StateMachineTypeNotSupported UnsupportedOperation""",
    (LOST, "unknown", True): """
        ServiceException EFSIOException InternalFailure InternalServerError InternalError
        ServiceUnavailable ServiceUnavailableException""",
}  # fmt: skip
_MEANT = {name: meaning for meaning, names in REFUSALS.items() for name in names.split()}

_FORBIDDEN = ("AccessDeniedException", "AccessDenied")
_CREDENTIALS = {
    "UnrecognizedClientException": "does not know the access key or its session token",
    "InvalidClientTokenId": "does not know the access key or its session token",
    "ExpiredTokenException": "says that the credentials have expired",
    "ExpiredToken": "says that the credentials have expired",
    "InvalidSignatureException": "says that the secret key is another, or that the time is wrong here",
    "SignatureDoesNotMatch": "says that the secret key is another, or that the time is wrong here",
    "RequestExpired": "says that the time is wrong here",
    "RequestTimeTooSkewed": "says that the time is wrong here",
}
_STATUSES: dict[int, tuple[str, MayHaveRun, bool]] = {
    401: (PERMISSION, "no", False),
    403: (PERMISSION, "no", False),
    404: (NOT_FOUND, "no", False),
    413: (PAYLOAD_TOO_LARGE, "no", False),
    429: (THROTTLED, "no", True),
}
SERVER_ERRORS, ERRORS = 500, 400


def error_name(response: Response) -> str:
    """The name of an error, without AWS' additions."""
    named = response.headers.get("x-amzn-errortype")
    if named is None:
        doc = _document(response)
        named = str(doc.get("__type") or doc.get("code") or "")
    return named.partition(":")[0].rpartition("#")[2].strip()


def refusal(response: Response, now_ms: int, report: Report) -> Fault:
    """The Fault of an unsuccessful response."""
    name, doc = error_name(response), _document(response)
    code, may_have_run, transient = meaning(name, response.status)
    text = _text(name, doc, response) if code != PERMISSION else _refused(name, doc)
    error = error_document(code, text)
    if name:
        error["name"] = name
    if isinstance(doc.get("Reason"), str):
        error["reason"] = doc["Reason"]
    return Fault(code, error, may_have_run, _wait_ms(response, doc, now_ms), transient, report)


def meaning(name: str, status: int) -> tuple[str, MayHaveRun, bool]:
    """The code, `may_have_run` and transience of an error, by its name or, if that is unknown, by its status."""
    return _MEANT.get(name) or _by_status(status)


def quotes_secrets(name: str) -> bool:
    """True if AWS' own text of an error may quote the signed request."""
    meant = _MEANT.get(name)
    return meant is not None and meant[0] == PERMISSION and name not in _FORBIDDEN


def refused_text(name: str) -> str:
    """The text about refused credentials, in place of AWS' text."""
    return _refused(name, {})


def _by_status(status: int) -> tuple[str, MayHaveRun, bool]:
    if status >= SERVER_ERRORS:
        return LOST, "unknown", True
    if status in _STATUSES:
        return _STATUSES[status]
    return (INVALID_REQUEST, "no", False) if status >= ERRORS else (BAD_RESPONSE, "unknown", False)


def _document(response: Response) -> dict[str, JSON]:
    doc = parsed(response.body) if response.body else None
    return doc if isinstance(doc, dict) else {}


def _text(name: str, doc: dict[str, JSON], response: Response) -> str:
    said = doc.get("message") or doc.get("Message")
    called = name or f"status {response.status}"
    return f"AWS answers {called}: {str(said)[:MAX_SHOWN]}" if said else f"AWS answers {called}"


def _refused(name: str, doc: dict[str, JSON]) -> str:
    if name in _FORBIDDEN:
        said = str(doc.get("message") or doc.get("Message") or "the credentials are not allowed to")
        return f"AWS answers {name}: {said[:MAX_SHOWN]}"
    named = f" ({name})" if name else ""
    return f"AWS {_CREDENTIALS.get(name, 'does not accept the credentials')}{named}"


def _wait_ms(response: Response, doc: dict[str, JSON], now_ms: int) -> int | None:
    found = retry_after_ms(response, now_ms)
    seconds = str(doc.get("retryAfterSeconds") or "")
    if found is None and seconds.isdecimal():
        return int(seconds) * 1000
    return found
