"""TLS: from which files, with which versions, and what is said of files that cannot be used."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import subprocess

import httpx
import pytest

from tests.kit.edge.certificates import Authority
from tests.kit.infra.servers import AUTH, DEADLINE_S, XINGQIAO, running
from xingqiao.infra.edge import CertificateError, context_of

OPTIONS = ("--auth", AUTH, "--isolation", "process")
LOOKS = 1000  # each is a request


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.certificate("server")


@pytest.fixture
def trusting(authority):
    return ssl.create_default_context(cafile=authority.ca)


def test_old_versions_of_tls_are_not_spoken(certificate):
    assert context_of(*certificate).minimum_version == ssl.TLSVersion.TLSv1_2


def test_files_that_cannot_be_used_are_named(authority, certificate, tmp_path):
    file, key = certificate
    empty = tmp_path / "empty.pem"
    empty.touch()
    _, other = authority.certificate("other")
    _, sealed = authority.certificate("sealed", password=b"secret")
    cases = [
        ((tmp_path / "none", key), "tls_cert: .*none cannot be read: No such file"),
        ((file, tmp_path / "none"), "tls_key: .*none cannot be read: No such file"),
        ((tmp_path, key), "tls_cert: .* cannot be read: Is a directory"),
        ((empty, key), "tls_cert: .*empty.pem holds no PEM block of a certificate"),
        ((file, empty), "tls_key: .*empty.pem holds no PEM block of a private key"),
        ((file, other), r"tls_key: .*other.key is not the key of the certificate in .*server.pem"),
        ((file, sealed), "tls_key: .*sealed.key: the key is encrypted"),
    ]
    for files, why in cases:
        with pytest.raises(CertificateError, match=why):
            context_of(*files)


def test_a_server_with_a_certificate_is_asked_over_https_only(
    certificate, authority, trusting, tmp_path
):
    cert, key = certificate
    with running(tmp_path, *OPTIONS, "--tls-cert", cert, "--tls-key", key) as server:
        assert re.fullmatch(r"https://127.0.0.1:\d+", server.url)
        assert httpx.get(f"{server.url}/health", verify=trusting).json() == {"status": "ok"}
        with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
            httpx.get(f"{server.url}/health")
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(server.url.replace("https", "http"))

        _commands_need_the_authority(server, authority, tmp_path)
        _renewed(server, authority, certificate, trusting)
        _, errors = server.stop()

    assert "Traceback" not in errors
    assert "the new certificate is not used, the old one stays: tls_key: " in errors
    assert "reloaded the certificate from " in errors


def _commands_need_the_authority(server, authority, tmp_path):
    file = tmp_path / "auth"
    file.write_text(AUTH)
    asked = [XINGQIAO, "action", "list", "--url", server.url, "--auth-file", file]
    environment = {**os.environ, "XINGQIAO_CA": str(authority.ca)}
    for options, own, code, said in (
        (["--ca", authority.ca], None, 0, ""),
        ([], environment, 0, ""),
        ([], None, 3, "certificate verify failed"),
        (["--ca", tmp_path / "none"], None, 1, "none cannot be read"),
        (["--ca", file], None, 1, "auth cannot be read"),
    ):
        done = subprocess.run(
            [*asked, *options], env=own, capture_output=True, text=True, check=False,
            timeout=DEADLINE_S,
        )  # fmt: skip
        assert (done.returncode, said in done.stderr) == (code, True), done


def _renewed(server, authority, certificate, trusting):
    """Replaces the certificate while the server runs, with a wrong key first."""
    before = _shown(server, trusting)
    cert, key = certificate
    new_cert, new_key = authority.certificate("renewed")
    new_cert.replace(cert)
    server.process.send_signal(signal.SIGHUP)
    line = ""
    while "the new certificate is not used, the old one stays" not in line:
        line = server.process.stderr.readline()
        assert line, "the server has ended"
        server.log.append(line)
    assert _shown(server, trusting) == before
    new_key.replace(key)
    server.process.send_signal(signal.SIGHUP)
    assert any(_shown(server, trusting) != before for _ in range(LOOKS))


def _shown(server, trusting):
    """The certificate that a server shows to a new connection."""
    host, port = server.url.removeprefix("https://").split(":")
    with (
        socket.create_connection((host, int(port)), timeout=DEADLINE_S) as plain,
        trusting.wrap_socket(plain, server_hostname=host) as connection,
    ):
        return connection.getpeercert(binary_form=True)


def test_a_handshake_has_its_time(certificate, tmp_path):
    environment = {**os.environ, "XINGQIAO_HANDSHAKE_S": "0.5"}
    cert, key = certificate
    tls = ("--tls-cert", cert, "--tls-key", key)
    with running(tmp_path, *OPTIONS, *tls, environment=environment) as server:
        host, port = server.url.removeprefix("https://").split(":")
        with socket.create_connection((host, int(port)), timeout=DEADLINE_S) as silent:
            assert silent.recv(1) == b""
        _, errors = server.stop()

    assert "refused: 1 TLS handshakes that failed or took too long" in errors
    assert "Traceback" not in errors
