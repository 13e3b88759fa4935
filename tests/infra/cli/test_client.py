"""Credentials of the command line: missing, malformed, or with a newline at their end."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.kit.infra.servers import AUTH, DEADLINE_S, XINGQIAO, running


@pytest.mark.parametrize(
    ("auth", "text"),
    [
        (None, "the credentials are missing: set XINGQIAO_AUTH"),
        ("\n", "the credentials are missing: set XINGQIAO_AUTH"),
        ("nonsense", "the credentials from XINGQIAO_AUTH must have the form UUID:KEY"),
    ],
)
def test_missing_and_malformed_credentials_end_with_the_code_of_not_allowed(
    refused, monkeypatch, auth, text
):
    if auth is not None:
        monkeypatch.setenv("XINGQIAO_AUTH", auth)

    assert refused("action", "list", code=4).startswith(text)


def test_missing_credentials_of_the_operator_end_with_the_same_code(refused):
    line = refused("service", "resume", code=4)

    assert line.startswith("the operator's credentials cannot be read from")


def test_a_newline_at_the_end_of_a_variable_is_no_part_of_the_credentials(
    command, server, monkeypatch
):
    monkeypatch.setenv("XINGQIAO_URL", f"{server.url}\n")
    monkeypatch.setenv("XINGQIAO_AUTH", f"{AUTH}\n")

    assert command("action", "list").code == 0


def test_a_server_takes_credentials_with_a_newline_too(command, monkeypatch, tmp_path):
    monkeypatch.setenv("XINGQIAO_AUTH", f"{AUTH}\n")
    monkeypatch.setenv("XINGQIAO_OPERATOR", "operator:a-key-of-an-operator\n")

    with (
        running(tmp_path / "data", "--isolation", "none") as server,
        server.client() as client,
    ):
        assert client.get("/actions").status_code == 200


@pytest.mark.parametrize("variable", ["XINGQIAO_AUTH", "XINGQIAO_OPERATOR"])
def test_a_server_names_the_variable_whose_credentials_it_refuses(tmp_path, variable):
    ended = subprocess.run(
        [XINGQIAO, "serve", "--port", "0", "--data", tmp_path / "data", "--isolation", "none"],
        capture_output=True, text=True, check=False, timeout=DEADLINE_S,
        env={**os.environ, variable: "a:short"},
    )  # fmt: skip

    assert ended.returncode == 1
    assert "the credentials must be UUID:KEY" in ended.stderr
    assert variable in ended.stderr
