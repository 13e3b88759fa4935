"""S3 for tests: moto's, over HTTP on loopback, behind a check of signatures that moto does not make.

    with s3() as cloud:
        cloud.client.create_bucket(Bucket="items")
        ... Settings(items_url=cloud.url) ...
        assert cloud.seen[-1] == ("GET", "/items/key")

Buckets are the process's own, and gone when the block ends.
"""

from __future__ import annotations

from contextlib import contextmanager
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from moto.core.request import Request
from moto.s3.models import s3_backends
from moto.s3.responses import S3Response
from werkzeug.wrappers import Request as Asked
from werkzeug.wrappers import Response

from tests.rigs.signatures import KEYS, REGION, Signature
from tests.rigs.wsgi import served

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
        signature = Signature(asked.headers.get("Authorization"))
        if signature.service != "s3":
            return refused(403, "AccessDenied", "Access Denied")
        if signature.key != KEYS[0]:
            text = f"The AWS Access Key Id you provided ({signature.key}) does not exist in our records."
            return refused(403, "InvalidAccessKeyId", text)
        if signature.region != self.region:
            headers = {"x-amz-bucket-region": self.region}
            text = f"The region '{signature.region}' is wrong; expecting '{self.region}'"
            return refused(400, "AuthorizationHeaderMalformed", text, headers)
        expected, right = signature.expected(asked, target, body)
        if not right:
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


@contextmanager
def s3():
    """S3 for as long as the block."""
    cloud = Cloud()
    with served(cloud) as cloud.url:
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
            for backend in s3_backends.values():
                backend["aws"].reset()
