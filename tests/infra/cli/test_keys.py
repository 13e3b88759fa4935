"""`xingqiao key`, on the folder of a real server."""

from __future__ import annotations

import os
import re
import subprocess

from tests.kit.infra.servers import AUTH, XINGQIAO, running


def xingqiao(*arguments, **environment):
    return subprocess.run(
        [XINGQIAO, *arguments], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def serving(data):
    return running(data, "--auth", AUTH, "--isolation", "process")


def test_a_new_key_is_printed():
    made = xingqiao("key", "new").stdout
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}=\n", made)
    assert xingqiao("key", "new").stdout != made


def test_a_store_goes_on_with_its_new_key_and_not_with_the_old_or_none(tmp_path):
    with serving(tmp_path) as server, server.client() as client:
        document = {"exec": {"kind": "python:3", "code": "def main(p): return p"}}
        document["parameters"] = [{"key": "token", "value": "a-bound-parameter"}]
        assert client.put("/actions/bound", json=document).status_code == 200
        refused = xingqiao("key", "rotate", "--data", str(tmp_path))
        assert refused.returncode == 1
        assert "a server is using" in refused.stderr
    old = (tmp_path / "key").read_text()

    rotated = xingqiao("key", "rotate", "--data", str(tmp_path))
    assert rotated.returncode == 0, rotated.stderr
    assert re.search(r"encrypted \d+ rows with the new key", rotated.stdout)
    new = (tmp_path / "key").read_text()
    assert new != old
    assert new.strip() not in rotated.stdout + rotated.stderr

    with serving(tmp_path) as server, server.client() as client:
        answer = client.post(
            "/actions/bound", params={"blocking": "true", "result": "true"}, json={}
        )
        assert answer.json() == {"token": "a-bound-parameter"}
    for text in (old, None):
        (tmp_path / "key").unlink()
        if text is not None:
            (tmp_path / "key").write_text(text)
        started = xingqiao("serve", "--port", "0", "--data", str(tmp_path))
        assert started.returncode == 1
        assert f"put the file {tmp_path / 'key'} back" in started.stderr.replace("\n", " ")


def test_where_there_is_no_store_nothing_is_rotated(tmp_path):
    refused = xingqiao("key", "rotate", "--data", str(tmp_path / "none"))
    assert refused.returncode == 1
    assert "contains no store" in refused.stderr
    assert not (tmp_path / "none").exists()


def test_keys_of_the_environment_are_rotated_there(tmp_path):
    (tmp_path / "xingqiao.db").touch()
    refused = xingqiao("key", "rotate", "--data", str(tmp_path), XINGQIAO_KEY_COMMAND="true")
    assert refused.returncode == 1
    assert "put a new key before the others" in " ".join(refused.stderr.split())
