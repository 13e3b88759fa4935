"""What docs/client.md shows of a server runs on a server."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.kit.docs.blocks import ROOT, blocks
from tests.kit.infra.servers import AUTH, running


def test_the_blocks_that_need_a_server_run_on_one(tmp_path):
    shown = [each.text for each in blocks(ROOT / "docs" / "client.md") if each.language == "python"]
    module = tmp_path / "client_blocks.py"
    module.write_text("\n".join(shown))

    with running(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as server:
        environment = {**os.environ, "XINGQIAO_URL": server.url, "XINGQIAO_AUTH": AUTH}
        done = subprocess.run(
            [sys.executable, module], capture_output=True, text=True, check=False,
            cwd=tmp_path, env=environment, timeout=60,
        )  # fmt: skip

    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[:3] == ["{'by': 'anna'}", "{'by': 'anna'}", "{'by': 'bo'}"]
    assert lines[-3].endswith("ExecutionSucceeded")
    assert lines[-2] == "2"
    assert lines[-1] == "{'count': 1, 'groups': {'cancelled': 1}}"
