"""Bundles for OpenWhisk hosts: each composition is one conductor action, a zip that needs nothing else.

A composition with a part that a conductor action cannot do is refused here, when it is bundled.
"""

from __future__ import annotations

import base64
import json
import secrets
import shlex
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ...actions import AZURE, CLOUDEVENTS, DURABLE, HTTP, LAMBDA, STATES, WHISK, Code, Remote
from ...composer import Composition, CompositionError, compile
from .archives import is_node, write_files
from .bundles import (
    OF_AWS,
    Takes,
    check_elsewhere,
    check_region,
    defined,
    parsed,
    secret_of,
    write_core,
    write_elsewhere,
    write_hosted,
    write_zip,
)
from .elsewhere import variable_of
from .errors import BundleError
from .hosted.user_code import VALUE_BYTES
from .requirements import Installer, requirements_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...actions import Action
    from .bundles import Definition, Source
    from .requirements import Requirements

KIND = "python:3.11"  # the least that `composer` runs on
PYTHON_VERSION = "3.11"
MAX_CODE = 48 << 20  # of an action's code, by OpenWhisk's default
MAX_COMPONENTS = 50
LONGEST_MS = 300_000  # of an action, by OpenWhisk's default
TAKES = Takes(elsewhere=(LAMBDA, STATES, WHISK, AZURE, DURABLE, HTTP, CLOUDEVENTS))

_MAIN = '''\
"""{name}: a composition, as a conductor action of OpenWhisk. Made by `xingqiao bundle`."""

import sys

if sys.version_info < (3, 11):
    raise RuntimeError("it needs Python 3.11 or later: create the action with --kind {kind}")

from pathlib import Path

from xingqiao.infra.deploy.hosted.openwhisk import conductor

main = conductor(Path(__file__).absolute().parent)
'''

_MAIN_ELSEWHERE = '''\
"""A function on another cloud, as an action of OpenWhisk. Made by `xingqiao bundle`."""

from pathlib import Path

from xingqiao.infra.deploy.elsewhere.openwhisk import elsewhere

main = elsewhere(Path(__file__).absolute().parent)
'''

_README = """\
# {names} on OpenWhisk

`xingqiao bundle --target openwhisk` wrote this folder, for any OpenWhisk host that has the kind `{kind}`:
the conductor needs Python 3.11 or later. Deploy from this folder with `wsk`, or with `xingqiao`, which
takes the same commands:

```
{commands}
```

Each composition is one conductor action: OpenWhisk runs the conductor action, then the action that it
names, then the conductor action again with the result, to the end. You invoke a composition like any
action, and other compositions may name it.

- A composition runs at most {components} actions, including those of compositions that it names, unless
  the host's operator allows more. One more action fails with `LimitExceeded`.
- The parameters of an action and the composition's state together take at most 1 MB. The same limit
  holds for its result and the state. Variables are part of the state.
- Inline functions run in the conductor action itself and count against its time limit (`--timeout`). The
  limit is for one turn, not for the whole composition. An inline function's result has at most {value}
  bytes.
- OpenWhisk keeps a composition under way in the memory of a controller. If the controller dies, the
  execution is lost.
- Do not give the conductor action default parameters: OpenWhisk would add them to every result, too.
- Each zip holds a key that signs the composition's state. Anyone who has the key can forge a state. A
  new bundle has another key, and executions under way then end with an error that says so.
"""


def write(name: str, source: Source, folder: Path) -> list[str]:  # noqa: ARG001  actions have names
    """Writes a zip or a source file an action, and a README with commands. See `targets.bundle`."""
    if not source.compositions:
        raise BundleError(
            "the source has no composition: define one; an action alone needs no bundle"
        )
    for called, composition in source.compositions.items():
        _check(called, composition)
    if source.options.vpc or source.options.secrets or source.options.actions:
        raise BundleError(
            "--config: the file has settings of AWS; on OpenWhisk, give an action default parameters instead"
        )
    with TemporaryDirectory(prefix="xingqiao-bundle-") as made:
        commands = _write(source, Path(made))
        shutil.copytree(made, folder, dirs_exist_ok=True)
    return [f"cd {folder}", *commands]


def _write(source: Source, folder: Path) -> list[str]:
    """Writes all files. Returns the commands that deploy them."""
    # A sequence comes last: it needs its actions.
    actions = sorted(source.actions.items(), key=lambda item: _is_sequence(item[1]))
    commands = []
    options = source.options
    with Installer(options.platform, PYTHON_VERSION, options.wheels) as installer:
        for called, document in actions:
            arguments = [*_action(called, document, folder, installer), *_options(document)]
            commands.append(_command(called, arguments))
    for called, composition in source.compositions.items():
        archive = folder / _file(called, "zip")
        _write_conductor(called, composition, archive)
        conducts = ["--kind", KIND, "--annotation", "conductor", "true"]
        commands.append(_command(called, [archive.name, *conducts]))
    readme = _README.format(
        names=", ".join(source.compositions),
        kind=KIND,
        commands="\n".join(commands),
        components=MAX_COMPONENTS,
        value=f"{VALUE_BYTES:,}",
    )
    (folder / "README.md").write_text(readme, "utf-8")
    return commands


def _action(name: str, document: Definition, folder: Path, installer: Installer) -> list[str]:
    """Writes the file of an action, if it has one. Returns the arguments of the command for it."""
    if any(note["key"] == "entity" for note in document.get("annotations", ())):
        raise BundleError(f"action {name}: entities exist only on a Xingqiao server")
    if {"key": "completion", "value": "callback"} in document.get("annotations", ()):
        raise BundleError(
            f"action {name}: the action answers later, by a callback, and nothing on an OpenWhisk host completes its "
            "step: use a Xingqiao server, or a bundle for AWS or Azure"
        )
    execution = document["exec"]
    if _is_sequence(document):
        return [",".join(execution["components"]), "--sequence"]
    action = parsed(name, {**document, "limits": {}})  # each host has its own limits
    if isinstance(action.exec, Remote):
        return _elsewhere(name, parsed(name, document), folder, installer)
    if not isinstance(action.exec, Code):
        raise BundleError(
            f"action {name}: the kind is {action.kind!r}, which only a server of Xingqiao runs; OpenWhisk runs code"
        )
    code, wanted = action.exec, requirements_of(name, execution)
    suffix = "zip" if code.binary or wanted else "js" if is_node(code) else "py"
    file = folder / _file(name, suffix)
    if wanted:
        _write_archive(name, code, wanted, file, installer)
    else:
        file.write_bytes(base64.b64decode(code.text) if code.binary else code.text.encode())
    check_code_size(name, file)
    main = ["--main", code.main] if code.main != "main" else []
    kind = execution["kind"]
    return [file.name, "--kind", KIND if kind == "python:3" else kind, *main]


def _write_archive(
    name: str, code: Code, wanted: Requirements, archive: Path, installer: Installer
) -> None:
    """Writes the files of an action and its requirements: together, as all runtimes look for both there."""
    with TemporaryDirectory() as made:
        root, files = Path(made) / "root", Path(made) / "files"
        write_files(name, code, files)
        if is_node(code) and not code.binary:
            with (files / "index.js").open("a") as file:
                file.write(f"\nif (!exports.{code.main}) exports.{code.main} = {code.main}\n")
        installer.install(name, wanted, root)
        shutil.copytree(files, root, dirs_exist_ok=True)
        write_zip(root, archive)


def _elsewhere(name: str, action: Action, folder: Path, installer: Installer) -> list[str]:
    """Writes the action that invokes a function on another cloud."""
    check_elsewhere(name, action, "OpenWhisk", TAKES)
    check_region(name, action)
    secret, of_aws = secret_of(action), action.kind in (LAMBDA, STATES)
    if of_aws and secret is None:
        raise BundleError(
            f"action {name}: an OpenWhisk host has no credentials for AWS: name a secret of the type 'aws' in "
            "'credentials'"
        )
    timeout_ms = min(action.limits.timeout_ms, LONGEST_MS)
    doc = {**defined(action), "timeout_ms": timeout_ms}
    with TemporaryDirectory() as made:
        root = Path(made)
        if of_aws:
            installer.install(name, [OF_AWS], root)
        write_hosted(root, ["wrapper"])
        write_elsewhere(root)
        (root / "action.json").write_text(json.dumps(doc) + "\n", "utf-8")
        (root / "__main__.py").write_text(_MAIN_ELSEWHERE, "utf-8")
        write_zip(root, folder / _file(name, "zip"))
    check_code_size(name, folder / _file(name, "zip"))
    bound = [] if secret is None else ["--param", variable_of(secret), "SECRET"]
    return [_file(name, "zip"), "--kind", KIND, *bound]


def check_code_size(name: str, file: Path) -> None:
    """Checks the size of the file that is uploaded for an action.

    Raises:
        BundleError: the file is larger than OpenWhisk allows.
    """
    if (size := file.stat().st_size) > MAX_CODE:
        raise BundleError(
            f"action {name}: the code and its requirements have {size:,} bytes, and OpenWhisk allows {MAX_CODE:,}: "
            "leave out packages, or split the action"
        )


def _is_sequence(document: Definition) -> bool:
    return "components" in document["exec"]


def _options(document: Definition) -> Iterator[str]:
    """The options of the command for the other fields of a definition."""
    for option, limit in (("timeout", "timeout"), ("memory", "memory"), ("logsize", "logs")):
        if limit in document.get("limits", {}):
            yield from (f"--{option}", str(document["limits"][limit]))
    for option, field in (("annotation", "annotations"), ("param", "parameters")):
        for pair in document.get(field, ()):
            yield from (f"--{option}", pair["key"], json.dumps(pair["value"]))


def _command(name: str, arguments: list[str]) -> str:
    return shlex.join(["wsk", "action", "update", name, *arguments])


def _file(name: str, suffix: str) -> str:
    return f"{name.replace('/', '.')}.{suffix}"


def _write_conductor(name: str, composition: Composition, archive: Path) -> None:
    """Writes a zip with one composition and its conductor."""
    try:
        program = compile(composition)
    except CompositionError as error:
        raise BundleError(f"composition {name}: {error}") from error
    deployed = {"programs": {name: program.to_json()}, "actions": {}}
    with TemporaryDirectory() as made:
        root = Path(made)
        write_core(root, deployed, ["openwhisk"])
        (root / "__main__.py").write_text(_MAIN.format(name=name, kind=KIND), "utf-8")
        (root / "key").write_text(secrets.token_hex(32))
        write_zip(root, archive)


def _check(name: str, composition: Composition) -> None:
    """Checks that a conductor action can do all parts of a composition.

    Raises:
        BundleError: it cannot; the text names the first such part and the reason.
    """
    left = [("", composition)]
    while left:
        where, part = left.pop()
        if why := part.row.unhosted(part.arguments):
            at = f", {where}" if where else ""
            raise BundleError(f"composition {name}{at}: OpenWhisk cannot run {part.type!r}: {why}")
        below = [(f"{where}.{place}" if where else place, node) for place, node in part.children()]
        left.extend(reversed(below))
