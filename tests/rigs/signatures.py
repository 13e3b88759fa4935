"""Whether a request that a played AWS is asked bears the right signature, which moto does not look at."""

from __future__ import annotations

import hmac
import re

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

KEYS = ("AKIATESTS0000000000", "a-secret-of-the-tests")
REGION = "us-east-1"
_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request, ?"
    r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
)


class Signature:
    """What a request's signature says: the key's id, the region and the service that it is for."""

    def __init__(self, authorization):
        self._found = _SIGNED.fullmatch(authorization or "")
        self.key, self.region, self.service = self._found.groups()[:3] if self._found else [""] * 3

    def expected(self, asked, target, body, keys=KEYS):
        """The signature that is right, and whether it is this one."""
        names, signature = self._found.groups()[3:]
        copy = AWSRequest(
            method=asked.method, url=f"http://{asked.host}{target}", data=body,
            headers={n: v for n, v in asked.headers if n.lower() in names.split(";")},
        )  # fmt: skip
        copy.context["timestamp"] = asked.headers["X-Amz-Date"]
        scheme = S3SigV4Auth if self.service == "s3" else SigV4Auth
        signer = scheme(Credentials(*keys), self.service, self.region)
        right = signer.signature(signer.string_to_sign(copy, signer.canonical_request(copy)), copy)
        return right, hmac.compare_digest(right, signature)
