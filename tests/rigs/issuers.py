"""Token endpoints on a strict host: Entra's, IBM's and Google's, each as strict as it is said to be.

An issuer counts how often it was `asked`, issues a new token each time, and has them all refused
after `expire()`: what a test does instead of waiting. `expires_in_s` is only what it says of them.
"""

from __future__ import annotations

import base64
import itertools
import json
import time

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.rigs.answers import always, answer

FORM = "application/x-www-form-urlencoded"
SKEW_S, MAX_LIFE_S = 300, 3600
_numbers = itertools.count(1)


class Issuer:
    """Issues bearer tokens at a path of a host to whoever sends the right form."""

    def __init__(self, host, path, *, expires_in_s=3600):
        self.url, self.asked, self.issued = host.url + path, 0, []
        self._valid, self.expires_in_s = set(), expires_in_s
        host.on("POST", path, always(self._ask))

    def accepts(self, authorization):
        """Whether a request with this header may pass."""
        return (authorization or "").removeprefix("Bearer ") in self._valid

    def expire(self):
        """From now on, all that was issued is refused."""
        self._valid.clear()

    async def _ask(self, host, seen, writer):
        self.asked += 1
        if seen.headers.get("content-type", "").partition(";")[0] != FORM:
            return await answer({"error": "invalid_request"}, 400)(host, seen, writer)
        status, value = self._answer(seen.form())
        return await answer(value, status, {"Cache-Control": "no-store"})(host, seen, writer)

    def _issue(self, token=None):
        token = token or f"token-{next(_numbers)}"
        self._valid.add(token)
        self.issued.append(token)
        return token


class Entra(Issuer):
    """Microsoft Entra's client credentials.

    https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
    """

    def __init__(self, host, *, tenant, client, secret, scope, **options):
        super().__init__(host, f"/{tenant}/oauth2/v2.0/token", **options)
        self._client, self._secret, self._scope = client, secret, scope

    def _answer(self, form):
        if form.get("grant_type") != "client_credentials":
            return _refused(400, "unsupported_grant_type", "AADSTS70003: unsupported grant type.")
        if form.get("client_id") != self._client:
            return _refused(400, "unauthorized_client", "AADSTS700016: application not found.")
        if form.get("client_secret") != self._secret:
            return _refused(401, "invalid_client", "AADSTS7000215: invalid client secret provided.")
        if form.get("scope") != self._scope:
            return _refused(400, "invalid_scope", "AADSTS70011: the scope is not valid.")
        life = {"expires_in": self.expires_in_s, "ext_expires_in": self.expires_in_s}
        return 200, {"token_type": "Bearer", **life, "access_token": self._issue()}


class IbmIam(Issuer):
    """IBM Cloud's IAM: a token for an API key.

    https://cloud.ibm.com/apidocs/iam-identity-token-api
    """

    def __init__(self, host, *, key, **options):
        super().__init__(host, "/identity/token", **options)
        self._key = key

    def _answer(self, form):
        if form.get("grant_type") != "urn:ibm:params:oauth:grant-type:apikey":
            return _ibm_refused("BXNIM0109E", "Property missing or empty: grant_type.")
        if form.get("apikey") != self._key:
            return _ibm_refused("BXNIM0415E", "Provided API key could not be found.")
        return 200, {
            "access_token": self._issue(), "refresh_token": "not_supported", "token_type": "Bearer",
            "expires_in": self.expires_in_s, "expiration": int(time.time()) + self.expires_in_s,
            "scope": "ibm openid",
        }  # fmt: skip


class Google(Issuer):
    """Google's grant for a service account: a signed JWT for an identity or an access token.

    `account` is the service account's key file, as an object.
    https://developers.google.com/identity/protocols/oauth2/service-account
    """

    def __init__(self, host, *, audience, **options):
        super().__init__(host, "/token", **options)
        self._audience, self._key = audience, rsa.generate_private_key(65537, 2048)
        pem = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        self.account = {
            "type": "service_account", "project_id": "rig", "private_key_id": "rig-key-1",
            "private_key": pem.decode(), "client_email": "rig@rig.iam.gserviceaccount.com",
            "client_id": "1", "token_uri": self.url,
        }  # fmt: skip

    def _answer(self, form):
        if form.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
            return _refused(400, "unsupported_grant_type", "Invalid grant_type")
        claims, wrong = self._claims(form.get("assertion", ""))
        if wrong:
            return _refused(400, "invalid_grant", wrong)
        if "target_audience" not in claims:
            return 200, {"access_token": self._issue(), "expires_in": self.expires_in_s, "token_type": "Bearer"}  # fmt: skip
        if claims["target_audience"] != self._audience:
            return _refused(400, "invalid_grant", "target_audience is not the function's URL")
        now = int(time.time())
        told = {"aud": self._audience, "iss": "https://accounts.google.com", "iat": now, "jti": next(_numbers), "exp": now + self.expires_in_s}  # fmt: skip
        token = f"{_b64({'alg': 'RS256', 'typ': 'JWT'})}.{_b64(told)}.c2lnbmF0dXJl"
        return 200, {"id_token": self._issue(token)}

    def _claims(self, assertion):
        """The claims, and what is wrong with them."""
        try:
            head, body, signature = assertion.split(".")
            self._key.public_key().verify(
                _unb64(signature), f"{head}.{body}".encode(), padding.PKCS1v15(), hashes.SHA256()
            )
            header, claims = json.loads(_unb64(head)), json.loads(_unb64(body))
        except (ValueError, InvalidSignature):
            return {}, "Invalid JWT Signature."
        now, issued, ends = time.time(), claims.get("iat", 0), claims.get("exp", 0)
        rules = {
            "alg is not RS256": header.get("alg") == "RS256",
            "kid is not the account's": header.get("kid", "rig-key-1") == "rig-key-1",
            "iss is not the account": claims.get("iss") == self.account["client_email"],
            "aud is not the token's URL": claims.get("aud") == self.url,
            "iat and exp are not of now": issued <= now + SKEW_S and now <= ends + SKEW_S,
            "it lives longer than an hour": ends - issued <= MAX_LIFE_S,
        }
        return claims, next((rule for rule, held in rules.items() if not held), None)


def _refused(status, error, description):
    return status, {"error": error, "error_description": description}


def _ibm_refused(code, text):
    return 400, {"errorCode": code, "errorMessage": text, "context": {"requestId": "rig"}}


def _b64(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
