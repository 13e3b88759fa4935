"""Signature Version 4: checks signatures of requests.

The id and the secret of the access key are those of a key of a namespace. The region is not checked. Source:
AWS' "Create a signed request", and the answers of its services to wrong signatures.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from .errors import AwsError

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..access import Identity, Keys

ALGORITHM = "AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"
WINDOW = timedelta(minutes=5)  # distance of the signature's instant from now, either way
FORMAT = "%Y%m%dT%H%M%SZ"
DAY = 8  # digits of the format's day
KEYS = 256  # cached signing keys: one for each day, region, service and key; and cached credentials
INSTANTS = 64  # cached instants: requests of the same second share one
CACHED = (
    256  # characters of what a cache holds at most: clients choose it before they prove anything
)
SCOPE = 5  # elements of a credential: key id, date, region, service, terminator

_INSTANT = re.compile(r"[0-9]{8}T[0-9]{6}Z")
_REQUIRED = ("Credential", "Signature", "SignedHeaders")


@dataclass(frozen=True, slots=True)
class Claim:
    """The signature of a request, unchecked.

    `signed` are the names of the signed headers; `instant` is the time of the signature, and `stamp` the same
    in AWS' format.
    """

    key_id: str
    region: str
    service: str
    instant: datetime
    stamp: str
    signed: tuple[str, ...]
    signature: str
    session: str | None

    @property
    def scope(self) -> str:
        return f"{self.stamp[:DAY]}/{self.region}/{self.service}/{TERMINATOR}"


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """The key that a request claims to be signed with; `check` proves it. `key` is its secret."""

    identity: Identity
    key: str = field(repr=False)
    claim: Claim

    def check(self, request: Request, content_hash: str) -> None:
        """Checks that the request, with content of this SHA-256, was signed with the key.

        Raises:
            AwsError: InvalidSignatureException: the signature is wrong.
        """
        scope = self.claim.scope
        canonical = _canonical(request, self.claim, content_hash)
        text = f"{ALGORITHM}\n{self.claim.stamp}\n{scope}\n{canonical}"
        derive = _signing_key if len(scope) <= CACHED else _signing_key.__wrapped__
        key = derive(self.key, scope)
        expected = hmac.digest(key, text.encode(), "sha256").hex()
        if not hmac.compare_digest(expected.encode(), self.claim.signature.encode()):
            raise _invalid(
                "The request signature we calculated does not match the signature you provided. "
                "Check your AWS Secret Access Key and signing method. Consult the service "
                "documentation for details."
            )


def key_id_of(request: Request) -> str:
    """The id of the key in the header, unchecked; "" if the header has none."""
    _, _, rest = request.headers.get("authorization", "").partition("Credential=")
    return rest.partition("/")[0]


def signature_check(request: Request, keys: Keys, service: str, now_ms: int) -> SignatureCheck:
    """The claimed signer of a request to `service`; the content need not be read yet.

    Raises:
        AwsError: the signature is missing, incomplete, too old or too new, or its key is unknown.
    """
    claim = _claim(request)
    found = keys.signer(claim.key_id, claim.session)
    if found is None:
        raise AwsError(
            "UnrecognizedClientException", "The security token included in the request is invalid."
        )
    identity, key = found
    if key is None:
        raise AwsError(
            "UnrecognizedClientException",
            "The security token included in the request is invalid: the store has only the hash of this "
            "namespace's key, from before requests could be signed. Use the key once with any command "
            "of xingqiao, or have it rotated",
        )
    if claim.service != service:
        raise _invalid(f"Credential should be scoped to correct service: '{service}'. ")
    _check_signed(request, claim)
    _check_age(claim.instant, datetime.fromtimestamp(now_ms // 1000, UTC))
    return SignatureCheck(identity, key, claim)


@lru_cache(KEYS)
def _signing_key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


# --- the claim ---------------------------------------------------------------------------------


def _claim(request: Request) -> Claim:
    header = request.headers.get("authorization")
    if not header:
        raise AwsError("MissingAuthenticationTokenException", "Missing Authentication Token")
    algorithm, _, rest = header.partition(" ")
    if algorithm != ALGORITHM:
        raise _incomplete(f"Unsupported AWS 'algorithm': it must be '{ALGORITHM}'.")
    parameters = {}
    for part in rest.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals:
            raise _incomplete(
                "Invalid key=value pair (missing equal-sign) in Authorization header."
            )
        parameters[name] = value
    dated = _dated(request)
    missing = [
        f"Authorization header requires '{name}' parameter."
        for name in _REQUIRED
        if not parameters.get(name)
    ]
    if dated is None:
        missing.append(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
        )
    if missing or dated is None:
        raise _incomplete(" ".join(missing))
    credential = parameters["Credential"]
    read = _credential if len(credential) <= CACHED else _credential.__wrapped__
    key_id, date, region, service = read(credential)
    instant, stamp = dated
    if date != stamp[:DAY]:
        raise _invalid(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from "
            f"HTTP: '{date}' != '{stamp[:DAY]}', from '{stamp}'."
        )
    return Claim(
        key_id,
        region,
        service,
        instant,
        stamp,
        tuple(parameters["SignedHeaders"].split(";")),
        parameters["Signature"],
        request.headers.get("x-amz-security-token"),
    )


@lru_cache(KEYS)
def _credential(text: str) -> tuple[str, str, str, str]:
    elements = text.split("/")
    if len(elements) != SCOPE:
        raise _incomplete(
            "Credential must have exactly 5 slash-delimited elements, e.g. "
            f"keyid/date/region/service/term, got '{text}'"
        )
    key_id, date, region, service, terminator = elements
    if terminator != TERMINATOR:
        raise _invalid(
            f"Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{terminator}'."
        )
    return key_id, date, region, service


def _dated(request: Request) -> tuple[datetime, str] | None:
    """The instant of the signature, from `X-Amz-Date` or else `Date`; and the same in AWS' format."""
    text = request.headers.get("x-amz-date") or request.headers.get("date")
    if text is None:
        return None
    try:
        return _instant(text) if len(text) <= CACHED else _instant.__wrapped__(text)
    except (ValueError, OverflowError):
        raise _incomplete(
            "Date must be in ISO-8601 'basic format'. Got what is none. "
            "See http://en.wikipedia.org/wiki/ISO_8601"
        ) from None


@lru_cache(INSTANTS)
def _instant(text: str) -> tuple[datetime, str]:
    basic = _INSTANT.fullmatch(text)
    instant = datetime.fromisoformat(text) if basic else parsedate_to_datetime(text).astimezone(UTC)
    return instant, f"{instant:{FORMAT}}"


def _check_signed(request: Request, claim: Claim) -> None:
    """Checks that all headers that change the request are signed."""
    names = request.headers.keys()
    must = [name for name in names if name.startswith("x-amz-")]
    must += ["host"] if "x-amz-date" in must else ["host", "date"]
    for name in sorted(name for name in must if name not in claim.signed):
        shown = "'Host' or ':authority'" if name == "host" else f"'{name.title()}'"
        raise _invalid(f"{shown} must be a 'SignedHeader' in the AWS Authorization.")


def _check_age(instant: datetime, now: datetime) -> None:
    minutes = int(WINDOW.total_seconds()) // 60
    if instant < now - WINDOW:
        raise _invalid(
            f"Signature expired: {instant:{FORMAT}} is now earlier than {now - WINDOW:{FORMAT}} "
            f"({now:{FORMAT}} - {minutes} min.)"
        )
    if instant > now + WINDOW:
        raise _invalid(
            f"Signature not yet current: {instant:{FORMAT}} is still later than "
            f"{now + WINDOW:{FORMAT}} ({now:{FORMAT}} + {minutes} min.)"
        )


# --- the signed text ---------------------------------------------------------------------------


def _canonical(request: Request, claim: Claim, content_hash: str) -> str:
    """The hash of the request in its canonical form.

    The content's hash is computed; `X-Amz-Content-Sha256` is not trusted.
    """
    sent: dict[str, list[str]] = {name: [] for name in claim.signed}
    for name, value in request.headers.items():
        if name in sent:
            sent[name].append(" ".join(value.split()))
    headers = [f"{name}:{','.join(sent[name])}" for name in claim.signed]
    form = "\n".join(
        (
            request.method,
            _path(request.scope["raw_path"].decode("latin-1")),
            _query(request.scope["query_string"].decode("latin-1")),
            *headers,
            "",
            ";".join(claim.signed),
            content_hash,
        )
    )
    return sha256(form.encode("latin-1", "replace")).hexdigest()


def _path(path: str) -> str:
    """The path without dots, encoded once more, as all services but S3 have it."""
    if path == "/":
        return path
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    end = "/" if parts and path.endswith("/") else ""
    return quote(f"/{'/'.join(parts)}{end}", safe="/~")


def _query(query: str) -> str:
    if not query:
        return ""
    pairs = []
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        pairs.append((_encoded(name), _encoded(value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _encoded(text: str) -> str:
    return quote(unquote_to_bytes(text), safe="-_.~")


def _incomplete(message: str) -> AwsError:
    return AwsError("IncompleteSignatureException", message)


def _invalid(message: str) -> AwsError:
    return AwsError("InvalidSignatureException", message)
