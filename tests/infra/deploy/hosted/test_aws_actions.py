"""Actions of a bundle on AWS, around which messages come and go."""

from __future__ import annotations

import boto3

from tests.kit.deploy.aws_fakes import Queues
from xingqiao.infra.deploy.hosted.aws_actions import wrapped


def test_an_action_sends_what_came_of_it(tmp_path, monkeypatch):
    queues = Queues()
    monkeypatch.setattr(boto3, "client", lambda *_, **__: queues)
    monkeypatch.setenv("QUEUE", "q")
    for name in ("ACTION_NAME", "NAMESPACE", "ACTIVATION_ID", "IDEMPOTENCY_KEY", "DEADLINE", "TRANSACTION_ID"):  # fmt: skip
        monkeypatch.setenv(f"__OW_{name}", "")
    file = tmp_path / "double.py"
    file.write_text("def main(params):\n    return {'n': params['n'] * 2}\n")
    token = {"execution": "e" * 32, "fiber": "0", "turn": 1}
    message = {"token": token, "params": {"n": 4}, "action": "/_/double", "activation": "a", "key": "k", "deadline": 5}  # fmt: skip

    wrapped(file, "main")(message, None)

    assert queues.messages == [
        ("q", {"is": "completed", "token": token, "outcome": {"value": {"n": 8}}})
    ]


def test_an_action_whose_message_comes_after_the_conductor_gave_up_does_not_run(
    tmp_path, monkeypatch, caplog
):
    queues = Queues()
    monkeypatch.setattr(boto3, "client", lambda *_, **__: queues)
    monkeypatch.setenv("QUEUE", "q")
    file = tmp_path / "never.py"
    file.write_text("def main(params):\n    raise SystemExit\n")
    token = {"execution": "e", "fiber": "0", "turn": 1}
    called = {"action": "/_/never", "params": {}, "activation": "a", "key": "k"}
    message = {"token": token, **called, "deadline": 4, "until": 5}

    wrapped(file, "main")(message, None)

    assert queues.messages == []
    assert "it is not run" in caplog.text
