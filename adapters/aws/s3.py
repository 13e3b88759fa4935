"""S3 and S3-compatible hosts: objects are read, listed and written with signed requests.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
Buckets are named in the path, which every S3-compatible host understands.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_plus, urlencode
from xml.etree import ElementTree as ET

from ...actions import (
    BAD_RESPONSE,
    INVALID_REQUEST,
    LOST,
    NOT_FOUND,
    PERMISSION,
    THROTTLED,
    Retrying,
)
from ..objects import MAX_PAGE, ObjectEntry, ObjectPart, Page
from ..port import Fault, HttpRequest
from ..reading import MAX_SHOWN
from .wire import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..port import Request, Response
    from .wire import Aws

SERVICE = "s3"
OK = range(200, 300)
NO_RANGE = 416
SERVER_ERRORS = 500
NO_REGION = "us-east-1"  # the region in signatures for hosts other than AWS, if none is set
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")
_REGION = re.compile(r"[a-z0-9-]{1,40}")
_RANGE = re.compile(r"bytes (?:\d+-\d+|\*)/(\d+)")
_STATUSES = {401: PERMISSION, 403: PERMISSION, 404: NOT_FOUND, 429: THROTTLED}
_BUSY = ("SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout")
_QUOTES_SECRETS = (
    "SignatureDoesNotMatch",
    "InvalidAccessKeyId",
    "InvalidToken",
)  # codes whose messages quote secrets


class S3Objects:
    """Objects on S3. `Objects`, for one run.

    Args:
        aws: the client of AWS.
        request: has the credentials and the deadline.
        url: of an S3-compatible host; "" for AWS.
    """

    def __init__(self, aws: Aws, request: Request, url: str = "") -> None:
        self._aws, self._request, self._url = aws, request, url.rstrip("/")
        self._regions: dict[str, str] = {}  # of buckets outside of the operator's own region

    async def read(
        self, bucket: str, key: str, version: str | None, span: tuple[int, int], etag: str
    ) -> ObjectPart | Fault:
        headers = {"Range": f"bytes={span[0]}-{span[1] - 1}"} | ({"If-Match": etag} if etag else {})
        query = {"versionId": version} if version else {}
        answer = await self._send(
            bucket, key, query, HttpRequest(method="GET", url="", headers=headers)
        )
        if isinstance(answer, Fault):
            return answer
        told = _RANGE.fullmatch(answer.headers.get("content-range", ""))
        if answer.status == NO_RANGE:  # there is nothing there
            return ObjectPart(b"", int(told[1]) if told else 0, etag)
        size = int(told[1]) if told else len(answer.body)
        body = answer.body if told else answer.body[span[0] : span[1]]
        return ObjectPart(body, size, answer.headers.get("etag", ""))

    async def page(self, bucket: str, prefix: str, after: str, most: int) -> Page | Fault:
        count = str(max(1, min(most, MAX_PAGE)))
        query = {"list-type": "2", "encoding-type": "url", "prefix": prefix, "max-keys": count}
        query |= {"continuation-token": after} if after else {}
        answer = await self._send(bucket, "", query, HttpRequest(method="GET", url=""))
        if isinstance(answer, Fault):
            return answer
        try:
            return _page(answer.body)
        except (ET.ParseError, ValueError, TypeError, OverflowError):
            text = "the response of S3 is not a list of objects"
            return Fault.saying(BAD_RESPONSE, text, "unknown")

    async def write(self, bucket: str, key: str, body: bytes) -> Fault | None:
        headers = {"Content-Type": "application/json"}
        outgoing = HttpRequest(method="PUT", url="", headers=headers, body=body)
        answer = await self._send(bucket, key, {}, outgoing)
        return answer if isinstance(answer, Fault) else None

    # --- requests ----------------------------------------------------------------------------

    async def _send(
        self, bucket: str, key: str, query: dict[str, str], outgoing: HttpRequest
    ) -> Response | Fault:
        """Sends a request, and retries it if that may help: no request here does harm twice."""
        lost = any(part in (".", "..") for part in key.split("/"))  # clients resolve those
        if lost or not _BUCKET.fullmatch(bucket) or not (key or "list-type" in query):
            text = f"S3 has no object '{key:.100}' in a bucket '{bucket:.100}'"
            return Fault.saying(INVALID_REQUEST, text, "no")
        path = f"/{bucket}/{quote(key, safe='/~')}"
        # The signature needs the query in order, with spaces as %20.
        named = urlencode(sorted(query.items()), quote_via=quote, safe="~")
        outgoing = replace(outgoing, url=f"{path}?{named}" if named else path)
        return await self._aws.repeated(
            self._request,
            lambda: self._once(bucket, outgoing),
            Retrying(),
            f"{self._request.key}/{outgoing.url}",
            repeatable=True,
        )

    async def _once(self, bucket: str, outgoing: HttpRequest) -> Response | Fault:
        """Sends a request to the bucket's region. S3 names the region if another one is asked."""
        while True:
            place = await self._place(bucket)
            if isinstance(place, Fault):
                return place
            answer = await self._aws.send(self._request, place, outgoing)
            if isinstance(answer, Fault) or answer.status in OK or answer.status == NO_RANGE:
                return answer
            region = answer.headers.get("x-amz-bucket-region", place.region)
            if region == place.region or bucket in self._regions or not _REGION.fullmatch(region):
                return refusal(answer)
            self._regions[bucket] = region

    async def _place(self, bucket: str) -> Place | Fault:
        region = self._regions.get(bucket, "")
        if self._url:
            return Place(SERVICE, region or NO_REGION, self._url)
        return await self._aws.place(SERVICE, region)


def refusal(response: Response) -> Fault:
    """The Fault of an unsuccessful response: with S3's own message if that is not a secret."""
    code, message = (_member(response.body, name) for name in ("Code", "Message"))
    named = f", Error Code: {code}" if code else ""
    told = f"(Service: S3, Status Code: {response.status}{named})"
    if code in _QUOTES_SECRETS or not message:
        message = "S3 refuses the request."
    kind = _STATUSES.get(response.status, INVALID_REQUEST)
    busy = code in _BUSY or response.status >= SERVER_ERRORS
    if busy:
        kind = THROTTLED if code == _BUSY[0] else LOST
    text = f"{message} {told}"
    return Fault.saying(kind, text, "unknown" if busy else "no", transient=busy)


def _member(body: bytes, name: str) -> str:
    """A member of an error, which is some lines of XML; "" if there is none."""
    found = re.search(rf"<{name}>([^<]*)</{name}>".encode(), body[: 16 * MAX_SHOWN])
    return found[1][:MAX_SHOWN].decode(errors="replace").strip() if found else ""


def _page(body: bytes) -> Page:
    """Reads the response of ListObjectsV2.

    Raises:
        ParseError, ValueError, TypeError: it is not such a response.
    """
    if b"<!" in body:  # a document type: S3 sends none, and entities could be anything
        raise ValueError(body[:MAX_SHOWN])
    root = ET.fromstring(body)  # noqa: S314  see above
    entries = [_entry(node) for node in _children(root, "Contents")]
    after = _text(root, "NextContinuationToken", "")
    truncated = _text(root, "IsTruncated", "false") == "true"
    return Page(entries, after if truncated else "")


def _entry(node: ET.Element) -> ObjectEntry:
    modified = datetime.fromisoformat(_text(node, "LastModified"))
    return ObjectEntry(
        key=unquote_plus(_text(node, "Key")),
        etag=_text(node, "ETag"),
        modified=modified.timestamp(),
        size=int(_text(node, "Size")),
        storage=_text(node, "StorageClass", "STANDARD"),
    )


def _children(node: ET.Element, name: str) -> Iterator[ET.Element]:
    return (child for child in node if child.tag.rpartition("}")[2] == name)


def _text(node: ET.Element, name: str, default: str | None = None) -> str:
    found = next(_children(node, name), None)
    text = default if found is None else found.text or ""
    if text is None:
        raise ValueError(name)
    return text
