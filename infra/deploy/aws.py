"""A bundle for AWS: what the Serverless Framework deploys, and the code in it.

Lambda functions for the conductor and for each action, an HTTP API, a DynamoDB table, an SQS queue with one for what
cannot be dealt with, and a rule for the clock. The conductor and all actions of one file each share an archive; an
action with more than that has an archive of its own.
"""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ...actions import AZURE, CLOUDEVENTS, HTTP, LAMBDA, STATES, WHISK, Code, Remote
from ...actions import DURABLE as AZURE_DURABLE
from .archives import is_node, write_files
from .aws_template import MAX_NAME, document
from .bundles import (
    Takes,
    check_program_size,
    checked,
    defined,
    write_core,
    write_elsewhere,
    write_hosted,
    write_zip,
)
from .hosted.changes import ROW_BYTES
from .requirements import Installer, check_size
from .yaml import to_yaml

if TYPE_CHECKING:
    from ...actions import Action
    from .bundles import Parts, Source

MODULES = ("aws", "aws_actions")
ARCHIVE = "code.zip"
PYTHON_VERSION = "3.12"
MAX_UNPACKED = 262_144_000  # of a function's archive; the Serverless Framework uploads it to S3, so zipped it has no own limit
WRAPPER = Path(__file__).parent / "node" / "handler.js"
TAKES = Takes(
    node=True,
    archives=True,
    elsewhere=(LAMBDA, STATES, WHISK, AZURE, AZURE_DURABLE, HTTP, CLOUDEVENTS),
)
_IMPORTS = '''\
"""The handler of the action."""

import sys
from pathlib import Path

from xingqiao.infra.deploy.hosted.aws_actions import wrapped

HERE = Path(__file__).parent
'''

_IMPORTS_ELSEWHERE = _IMPORTS.replace(
    "hosted.aws_actions import wrapped", "elsewhere.aws import elsewhere"
)


def write(name: str, source: Source, folder: Path, most_bytes: int = MAX_UNPACKED) -> list[str]:
    """Writes `serverless.yml`, `code/` and its archives. See `targets.bundle`.

    `most_bytes` is the largest size of a function's unpacked files.
    """
    parts = checked(source, "AWS", TAKES)
    for full, program in parts.programs.items():
        size = len(json.dumps({"program": program.to_json()}))
        check_program_size(full, size, ROW_BYTES, "an item of a DynamoDB table")
    keys = _keys(parts)
    own = [full for full, action in parts.actions.items() if _stands_alone(full, action, parts)]
    archives = {"": ARCHIVE, **{full: f"{keys[full]}.zip" for full in own}}
    template = to_yaml(document(name, parts, source.options, keys, archives))
    with TemporaryDirectory(prefix="xingqiao-bundle-") as made:
        root = Path(made)
        code = root / "code"
        write_core(code, {**parts.deployed(), "functions": keys}, MODULES)
        _write_code(code, parts, keys, own)
        check_size("the conductor", code, most_bytes, "Lambda")
        _write_own(root, parts, keys, source, most_bytes)
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.glob("*.zip"):
            stale.unlink()
        shutil.rmtree(folder / "code", ignore_errors=True)
        shutil.copytree(code, folder / "code")
        write_zip(code, folder / ARCHIVE)
        for full in own:
            write_zip(root / keys[full], folder / archives[full])
    (folder / "serverless.yml").write_text(template, "utf-8")
    return [f"cd {folder} && npx osls deploy"]


def _stands_alone(full: str, action: Action, parts: Parts) -> bool:
    """True if an action has an archive of its own: it is more than one file of Python."""
    code = action.exec
    plain = isinstance(code, Code) and not code.binary and not is_node(code)
    return not plain or full in parts.requirements


def _write_own(
    made: Path, parts: Parts, keys: dict[str, str], source: Source, most_bytes: int
) -> None:
    """Writes the folders of the archives that actions have of their own."""
    options = source.options
    with Installer(options.platform, PYTHON_VERSION, options.wheels) as installer:
        for full, action in parts.actions.items():
            if not _stands_alone(full, action, parts):
                continue
            name, folder = full.removeprefix("/_/"), made / keys[full]
            if isinstance(action.exec, Code):
                write_files(name, action.exec, folder / "action")
            if isinstance(action.exec, Code) and is_node(action.exec):
                _write_node(folder, action.exec)
                site = folder / "action"
            else:
                _write_python(folder, keys[full], action)
                site = folder / "requirements"
            if full in parts.requirements:
                installer.install(name, parts.requirements[full], site)
            check_size(f"action {name}", folder, most_bytes, "Lambda")


def _write_node(folder: Path, code: Code) -> None:
    shutil.copyfile(WRAPPER, folder / "handler.js")
    about = {"main": code.main, "binary": code.binary}
    (folder / "action.json").write_text(json.dumps(about) + "\n", "utf-8")


def _write_python(folder: Path, key: str, action: Action) -> None:
    lines = [_IMPORTS, 'sys.path.insert(0, str(HERE / "requirements"))', ""]
    write_hosted(folder, ["aws_actions"])
    if isinstance(action.exec, Remote):
        write_elsewhere(folder)
        (folder / "action.json").write_text(json.dumps(defined(action)) + "\n", "utf-8")
        lines[0] = _IMPORTS_ELSEWHERE
        lines.append(f'{key} = elsewhere(HERE / "action.json")')
    else:
        assert isinstance(action.exec, Code)  # noqa: S101  it has been checked
        lines.append(f'{key} = wrapped(HERE / "action", {action.exec.main!r})')
    (folder / "wrappers.py").write_text("\n".join(lines) + "\n", "utf-8")


def _keys(parts: Parts) -> dict[str, str]:
    """The name of each action's function: letters and digits, none twice."""
    keys: dict[str, str] = {}
    for name in parts.actions:
        words = re.findall(r"[A-Za-z0-9]+", name.removeprefix("/_/"))
        key = "action" + "".join(word[0].upper() + word[1:] for word in words)
        if key in keys.values() or len(key) > MAX_NAME // 2:
            key = key[: MAX_NAME // 2 - 6] + sha256(name.encode()).hexdigest()[:6]
        keys[name] = key
    return keys


def _write_code(code: Path, parts: Parts, keys: dict[str, str], own: list[str]) -> None:
    (code / "actions").mkdir()
    lines = [
        '"""The handlers of the actions."""',
        "",
        "from pathlib import Path",
        "",
        "from xingqiao.infra.deploy.hosted.aws_actions import wrapped",
        "",
        'HERE = Path(__file__).parent / "actions"',
        "",
    ]
    for name, action in parts.actions.items():
        if name in own:
            continue
        assert isinstance(action.exec, Code)  # noqa: S101  it has been checked
        (code / "actions" / f"{keys[name]}.py").write_text(action.exec.text, "utf-8")
        lines.append(f'{keys[name]} = wrapped(HERE / "{keys[name]}.py", {action.exec.main!r})')
    (code / "wrappers.py").write_text("\n".join(lines) + "\n", "utf-8")
    (code / "conductor.py").write_text(
        '"""The handler of the conductor."""\n\n'
        "from pathlib import Path\n\n"
        "from xingqiao.infra.deploy.hosted.aws import Host\n\n"
        "handler = Host(Path(__file__).parent)\n",
        "utf-8",
    )
