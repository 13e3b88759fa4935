"""Where a client finds the server and the credentials."""

from __future__ import annotations

import os

import pytest

from xingqiao.infra.client import CredentialsError, Given, Options, PlaceError, dev_file, locate
from xingqiao.infra.client.places import Place

AUTH = "uuid:a-key"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("XINGQIAO_", "WSK_CONFIG_FILE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def found(**given):
    return locate(Given(**given), Options())


def test_what_is_given_counts_first(monkeypatch):
    monkeypatch.setenv("XINGQIAO_URL", "http://elsewhere")
    monkeypatch.setenv("XINGQIAO_AUTH", "else:where")

    place = found(url="http://here/", auth=f"{AUTH}\n")

    assert (place.url, place.auth) == ("http://here", AUTH)
    assert (place.url_from, place.auth_from) == ("url", "auth")


def test_the_environment_counts_next(monkeypatch, tmp_path):
    (tmp_path / ".wskprops").write_text("APIHOST=other\nAUTH=o:ther\n")
    monkeypatch.setenv("XINGQIAO_URL", "http://here\n")
    monkeypatch.setenv("XINGQIAO_AUTH", AUTH)
    monkeypatch.setenv("XINGQIAO_CA", "ca.pem")

    place = found()

    assert (place.url, place.auth, place.ca) == ("http://here", AUTH, "ca.pem")
    assert (place.url_from, place.auth_from) == ("XINGQIAO_URL", "XINGQIAO_AUTH")


def test_the_properties_count_last(tmp_path):
    (tmp_path / ".wskprops").write_text(f"APIHOST=here\nAUTH={AUTH}\n")

    place = found()

    assert (place.url, place.auth) == ("https://here", AUTH)
    assert "APIHOST in" in place.url_from


def test_a_server_of_the_folder_is_found_if_nothing_is_given(monkeypatch):
    dev_file.write("http://127.0.0.1:1", AUTH)

    assert found().url == "http://127.0.0.1:1"
    monkeypatch.setenv("XINGQIAO_AUTH", AUTH)
    assert found().url == "http://127.0.0.1:3233"


def test_credentials_come_from_a_file(monkeypatch, tmp_path):
    (tmp_path / "auth").write_text(f"{AUTH}\n")

    assert found(auth_file="auth").auth == AUTH
    monkeypatch.setenv("XINGQIAO_AUTH_FILE", "auth")
    assert found().auth_from == "the file in XINGQIAO_AUTH_FILE"


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        (
            {},
            CredentialsError,
            "the credentials are missing: set XINGQIAO_AUTH to UUID:KEY, or give",
        ),
        ({"auth": "nonsense"}, CredentialsError, "the credentials from auth must have the form"),
        ({"auth": AUTH, "auth_file": "f"}, PlaceError, "auth and auth_file are both given"),
        ({"auth_file": "nowhere"}, PlaceError, "the credentials file nowhere cannot be read"),
    ],
)
def test_what_is_wrong_is_named(given, kind, text):
    with pytest.raises(kind, match=text) as error:
        found(**given)

    assert "nonsense" not in str(error.value)


def test_credentials_are_not_shown():
    assert "a-key" not in repr(found(auth=AUTH)) + repr(Given(auth=AUTH))


@pytest.mark.parametrize(
    ("url", "why", "cut", "text"),
    [
        ("https://s", "CERTIFICATE_VERIFY_FAILED", False, "with ca or XINGQIAO_CA"),
        ("https://s", "SSL: wrong version", False, "use http://s. The URL comes from url"),
        ("http://s", "reset", True, "use https://s. The URL comes from url"),
        ("http://s", "refused", False, "refused. The URL comes from url. Start a server with"),
        ("http://s", "", False, "OSError. The URL"),
    ],
)
def test_a_server_that_is_not_reached_has_a_remedy(url, why, cut, text):
    place = Place(url=url, auth=AUTH, ca=None, url_from="url", auth_from="auth")

    assert text in place.unreached(OSError(), why, cut=cut)
