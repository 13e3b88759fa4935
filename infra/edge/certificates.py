"""TLS: a certificate and its key, from files, with versions that are still safe."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from ...composer import Error

if TYPE_CHECKING:
    from pathlib import Path


class CertificateError(Error):
    """A certificate or its key cannot be used; the text names the file and says why."""


def context_of(certificate: Path, key: Path) -> ssl.SSLContext:
    """A TLS context for connections: TLS 1.2 or newer.

    Args:
        certificate: PEM file of the server's certificate, followed by those of its issuers.
        key: PEM file of its private key, which must not be encrypted.

    Raises:
        CertificateError: a file cannot be used; the text names it.
    """
    for setting, file in (("tls_cert", certificate), ("tls_key", key)):
        try:
            file.open("rb").close()
        except OSError as error:
            raise CertificateError(f"{setting}: {file} cannot be read: {error.strerror}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError as error:
        raise CertificateError(_why(certificate, key, error)) from error
    except ValueError as error:
        raise CertificateError(f"tls_key: {key}: {error}") from error
    return context


def _no_password() -> str:
    raise ValueError(
        "the key is encrypted: decrypt it, and keep the file readable only to the server"
    )


def _why(certificate: Path, key: Path, error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"tls_key: {key} is not the key of the certificate in {certificate}"
    for setting, file, begin in (
        ("tls_cert", certificate, "CERTIFICATE"),
        ("tls_key", key, "PRIVATE KEY"),
    ):
        if f"{begin}-----" not in file.read_text("latin-1"):
            return f"{setting}: {file} holds no PEM block of a {begin.lower()}"
    return f"tls_cert {certificate} and tls_key {key} cannot be used: {error}"
