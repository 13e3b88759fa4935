"""S3 for tests: moto's, over HTTP on loopback, behind a check of signatures that moto does not make.

    with s3() as cloud:
        cloud.client.create_bucket(Bucket="items")
        ... Settings(items_url=cloud.url) ...
        assert cloud.seen[-1] == ("GET", "/items/key")

Buckets are the process's own, and gone when the block ends.
"""

from __future__ import annotations

import hmac
import re
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import boto3
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from moto.core.request import Request
from moto.s3.models import s3_backends
from moto.s3.responses import S3Response
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request as Asked
from werkzeug.wrappers import Response

KEYS = ("AKIATESTS0000000000", "a-secret-of-the-tests")
REGION = "us-east-1"
_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/s3/aws4_request, ?"
    r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
)
_ERROR = "<?xml version='1.0'?><Error><Code>{0}</Code><Message>{1}</Message></Error>"


class Cloud:
    """Answers as S3 does; `faults` are responses that are given first, in their order."""

    def __init__(self):
        self.seen = []
        self.faults = []
        self.region = REGION
        self.url = self.client = None

    def __call__(self, environ, start_response):
        asked = Asked(environ)
        body, target = asked.get_data(), environ["RAW_URI"]
        self.seen.append((asked.method, target))
        answer = (
            self._refusal(asked, target, body) or self._fault() or self._answer(asked, target, body)
        )
        return answer(environ, start_response)

    def _fault(self):
        return self.faults.pop(0) if self.faults else None

    def _refusal(self, asked, target, body):
        """What is answered to whoever has not signed, or not for this region."""
        found = _SIGNED.fullmatch(asked.headers.get("Authorization", ""))
        if found is None:
            return refused(403, "AccessDenied", "Access Denied")
        key, region, names, signature = found.groups()
        if key != KEYS[0]:
            text = f"The AWS Access Key Id you provided ({key}) does not exist in our records."
            return refused(403, "InvalidAccessKeyId", text)
        if region != self.region:
            headers = {"x-amz-bucket-region": self.region}
            text = f"The region '{region}' is wrong; expecting '{self.region}'"
            return refused(400, "AuthorizationHeaderMalformed", text, headers)
        copy = AWSRequest(
            method=asked.method, url=f"http://{asked.host}{target}", data=body,
            headers={n: v for n, v in asked.headers if n.lower() in names.split(";")},
        )  # fmt: skip
        copy.context["timestamp"] = asked.headers["X-Amz-Date"]
        signer = S3SigV4Auth(Credentials(*KEYS), "s3", region)
        expected = signer.signature(
            signer.string_to_sign(copy, signer.canonical_request(copy)), copy
        )
        if not hmac.compare_digest(expected, signature):
            return refused(403, "SignatureDoesNotMatch", f"It is not {expected}: {KEYS[1]}")
        return None

    def _answer(self, asked, target, body):
        headers = dict(asked.headers)
        request = Request.from_primitives(asked.method, f"{self.url}{target}", headers, body)
        of_object = urlsplit(target).path.strip("/").count("/") > 0
        dispatch = S3Response.key_dispatch if of_object else S3Response.ambiguous_dispatch
        status, told, content = dispatch(request, request.raw_url, headers)
        return Response(content, status, told)


def refused(status, code, message, headers=None):
    """A refusal as S3 words it."""
    return Response(
        _ERROR.format(code, message), status, {"Content-Type": "application/xml", **(headers or {})}
    )


class _Silent(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        """Says nothing."""


@contextmanager
def s3():
    """S3 for as long as the block."""
    cloud = Cloud()
    server = make_server("127.0.0.1", 0, cloud, threaded=True, request_handler=_Silent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    cloud.url = f"http://127.0.0.1:{server.port}"
    cloud.client = boto3.client(
        "s3", endpoint_url=cloud.url, region_name=REGION, aws_access_key_id=KEYS[0],
        aws_secret_access_key=KEYS[1],
        config=Config(
            request_checksum_calculation="when_required", s3={"addressing_style": "path"}
        ),
    )  # fmt: skip
    try:
        yield cloud
    finally:
        cloud.client.close()
        server.shutdown()
        thread.join()
        server.server_close()
        for backend in s3_backends.values():
            backend["aws"].reset()
