"""Certificates for tests: an authority, and what it signs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM = serialization.Encoding.PEM


class Authority:
    """Signs certificates for 127.0.0.1; its own is in the file `ca`."""

    def __init__(self, folder):
        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority for tests")])
        own = self._signed(self._name, self._key.public_key(), x509.BasicConstraints(True, None))
        self.ca = folder / "ca.pem"
        self.ca.write_bytes(own.public_bytes(PEM))

    def certificate(self, name, password=None):
        """The files of a new certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        certificate, file = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        certificate.write_bytes(self._signed(subject, key.public_key(), names).public_bytes(PEM))
        form = serialization.PrivateFormat.PKCS8
        sealed = (
            serialization.BestAvailableEncryption(password)
            if password
            else serialization.NoEncryption()
        )
        file.write_bytes(key.private_bytes(PEM, form, sealed))
        return certificate, file

    def _signed(self, subject, key, extension):
        now = datetime(2020, 1, 1, tzinfo=UTC)
        builder = x509.CertificateBuilder(
            issuer_name=self._name, subject_name=subject, public_key=key,
            serial_number=x509.random_serial_number(),
            not_valid_before=now, not_valid_after=now + timedelta(days=36_500),
        )  # fmt: skip
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(extension, critical=True)
        builder = builder.add_extension(issuer, critical=False)
        own = x509.SubjectKeyIdentifier.from_public_key(key)
        return builder.add_extension(own, critical=False).sign(self._key, hashes.SHA256())
