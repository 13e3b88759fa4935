"""`xingqiao property ...`, against a real server."""

from __future__ import annotations

from tests.kit.infra.commands import ok
from tests.kit.infra.servers import AUTH


def test_properties_are_kept_in_wskprops(command, server, tmp_path):
    (tmp_path / ".wskprops").write_text("OTHER=kept\nNAMESPACE=_\n")
    ok(command("property", "set", "--apihost", server.url, "--auth", AUTH))

    assert (tmp_path / ".wskprops").stat().st_mode & 0o777 == 0o600
    assert "OTHER=kept" in (tmp_path / ".wskprops").read_text()
    assert ok(command("property", "get", "--apihost", "--json")).json == {"APIHOST": server.url}
    assert ok(command("namespace", "list", "--json")).json == ["guest"]
    (tmp_path / "auth").write_text(f"{AUTH}\n")
    ok(command("property", "unset", "--auth"))
    assert command("namespace", "list").code == 4
    ok(command("property", "set", "--auth-file", tmp_path / "auth"))
    assert ok(command("namespace", "list", "--json")).json == ["guest"]
    ok(command("property", "unset", "--auth"))
    assert set(ok(command("property", "get", "--all", "--json")).json) == {"APIHOST", "NAMESPACE"}
    assert command("namespace", "list").code == 4


def test_properties_are_set_without_the_key_in_the_output(command):
    made = command("property", "set", "--apihost", "http://a", "--auth", "u:hidden", "--json")
    gone = command("property", "unset", "--apihost", "--auth", "--json")

    assert made.json == {"set": ["APIHOST", "AUTH"]}
    assert gone.json == {"removed": ["APIHOST", "AUTH"]}
    assert "hidden" not in made.out
