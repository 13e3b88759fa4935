"""Bundles for Azure: a function app in the Python v2 programming model, a folder to be published."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ...actions import AZURE, CLOUDEVENTS, DURABLE, HTTP, LAMBDA, STATES, WHISK, Code, Remote
from .archives import write_files
from .bundles import (
    OF_AWS,
    Takes,
    check_program_size,
    check_region,
    checked,
    defined,
    secret_of,
    write_core,
    write_elsewhere,
)
from .elsewhere import variable_of
from .errors import BundleError
from .hosted.user_code import VALUE_BYTES
from .options import X86
from .requirements import Installer

if TYPE_CHECKING:
    from ...composer import JSON
    from .bundles import Parts, Source
    from .options import Options

MAX_STORAGE = 24  # characters that the names of its tables and queues begin with
MAX_PROGRAM = 480_000  # a row holds 1 MiB of UTF-16
LIMIT = "00:10:00"  # of a function; an action's own is at most half of that

_APP = '''\
"""Compositions as an Azure function app. Made by `xingqiao bundle`."""

import os
from pathlib import Path

from xingqiao.infra.deploy.hosted.azure import CONNECTION, Hosted, function_app

app = function_app(Hosted(Path(__file__).parent, os.environ[CONNECTION]))
'''

_APP_ELSEWHERE = '''\
"""Compositions as an Azure function app. Made by `xingqiao bundle`."""

import os
from pathlib import Path

from xingqiao.infra.deploy.elsewhere.azure import remote_action
from xingqiao.infra.deploy.hosted.azure import CONNECTION, Hosted, function_app

app = function_app(Hosted(Path(__file__).parent, os.environ[CONNECTION], elsewhere=remote_action))
'''

_HOST: dict[str, JSON] = {
    "version": "2.0",
    "functionTimeout": LIMIT,
    "extensionBundle": {
        "id": "Microsoft.Azure.Functions.ExtensionBundle",
        "version": "[4.*, 5.0.0)",
    },
    "extensions": {
        "http": {"routePrefix": ""},
        # One message at a time, for actions find what they are told in the environment of their process;
        # and what fails is tried again until an outage is over.
        "queues": {
            "batchSize": 1,
            "newBatchThreshold": 0,
            "maxDequeueCount": 100,
            "visibilityTimeout": "00:00:30",
            "maxPollingInterval": "00:00:10",
            "messageEncoding": "base64",
        },
    },
}

_LOCAL: dict[str, JSON] = {
    "IsEncrypted": False,
    "Values": {
        "FUNCTIONS_WORKER_RUNTIME": "python",
        "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    },
}

PYTHON_VERSION = "3.11"
TAKES = Takes(archives=True, elsewhere=(AZURE, DURABLE, LAMBDA, STATES, WHISK, HTTP, CLOUDEVENTS))
_REQUIREMENTS = [
    "azure-functions==1.26.0",
    "azure-data-tables==12.7.0",
    "azure-storage-queue==12.18.1",
]
PACKAGES = ".python_packages/lib/site-packages"  # where the host looks for packages that are part of the app

_IGNORED = """\
README.md
local.settings.json
local.settings.json.example
__pycache__/
.venv/
"""

_README = """\
# {name} on Azure

Compositions: {names}.

`xingqiao bundle --target azure` wrote this folder: a function app in the Python v2 programming model, for
Python 3.11 or later. The app needs only a storage account. Deploy from this folder with Azure's command
line and the Functions Core Tools. Replace GROUP, ACCOUNT and APP with names of your own:

```
az group create --name GROUP --location westeurope
az storage account create --name ACCOUNT --resource-group GROUP --sku Standard_LRS
az functionapp create --name APP --resource-group GROUP --storage-account ACCOUNT --functions-version 4 \\
  --os-type Linux --runtime python --runtime-version 3.11 --consumption-plan-location westeurope
func azure functionapp publish APP
```

The app creates tables and queues when it first uses them. Their names begin with `{storage}`, so several
bundles can share an account. The app setting `XINGQIAO_STORAGE` names another prefix: 3 to 24 lower case
letters and digits, a letter first. Set it if you publish this bundle as two apps on one account. Earlier
bundles used the prefix `xingqiao`: keep that prefix until the executions that such a bundle began have
ended. To run the app on this machine, start `azurite`, copy `local.settings.json.example` to
`local.settings.json`, and run `func start`.

```
curl -X POST https://APP.azurewebsites.net/{first} -H "x-functions-key: KEY" -d '{{}}'
```

returns 202 with the id of an execution. The header `Location` has the URL of its state. `KEY` is a key of
the app (`az functionapp keys list`). With the header `Idempotency-Key`, a repeated request begins no second
execution.

| function | trigger | work |
|---|---|---|
| `http` | POST /{{composition}}, GET and DELETE /executions/{{id}} | begins, shows, cancels an execution |
| `conductor` | the queue `{storage}-completions` | advances an execution |
| `action` | the queue `{storage}-actions` | runs one action: {actions} |
| `sweep` | a timer, each minute | fires timers that are far off, handles missing answers, removes old rows |

No function waits for another. Inline functions run in `conductor`. An instance runs one action at a time;
the platform starts more instances as the queue grows. An action is invoked at least once: use
`__OW_IDEMPOTENCY_KEY` in its environment to avoid repeating a side effect. The time limit of the action is
not enforced, only the limit of a function ({limit}, in `host.json`). An action that was started twice and
never ended has crashed.

A value has at most {value} bytes. You can read an execution for seven days after its end.
"""


def write(name: str, source: Source, folder: Path) -> list[str]:
    """Writes a function app. See `targets.bundle`."""
    parts = checked(source, "Azure", TAKES)
    _check_options(source.options)
    for full, action in parts.actions.items():
        check_region(full.removeprefix("/_/"), action)
    for full, program in parts.programs.items():
        check_program_size(
            full, len(json.dumps(program.to_json())), MAX_PROGRAM, "a row of a table on Azure"
        )
    code, elsewhere = _code(parts), _elsewhere(parts)
    deployed = {**parts.deployed(), "storage": storage_of(name), "code": code}
    if elsewhere:
        deployed["elsewhere"] = elsewhere
    with TemporaryDirectory(prefix="xingqiao-bundle-") as made:
        _write_actions(Path(made), parts, code)
        wanted = [*_REQUIREMENTS, *_wanted(parts)]
        if source.options.wheels is not None:
            with Installer(X86, PYTHON_VERSION, source.options.wheels) as installer:
                installer.install("of the bundle", wanted, Path(made) / PACKAGES)
        write_core(folder, deployed, ["azure"])
        if elsewhere:
            write_elsewhere(folder)
        for part in ("actions", PACKAGES.partition("/")[0]):
            shutil.rmtree(folder / part, ignore_errors=True)
        shutil.copytree(made, folder, dirs_exist_ok=True)
    (folder / "actions").mkdir(exist_ok=True)
    for file, text in _texts(name, parts, wanted).items():
        (folder / file).write_text(text, "utf-8")
    ready = "" if source.options.wheels is None else " --no-build"
    return [f"cd {folder}", *_secrets(parts), f"func azure functionapp publish APP{ready}"]


def _check_options(options: Options) -> None:
    if options.platform != X86:
        raise BundleError(
            f"--platform {options.platform}: function apps on Azure run on {X86} only: leave the option out"
        )
    if options.vpc or options.secrets or options.actions:
        raise BundleError(
            "--config: the file has settings of AWS; on Azure, app settings are the environment of all actions "
            "(az functionapp config appsettings set), and the app has the network and the identity"
        )


def _write_actions(folder: Path, parts: Parts, code: dict[str, dict[str, str]]) -> None:
    """Writes the files of the actions. Modules of all archives share one process, and so one space of names."""
    owners: dict[str, tuple[str, bytes]] = {}
    for full, action in parts.actions.items():
        if not isinstance(action.exec, Code):
            continue
        name, place = full.removeprefix("/_/"), folder / code[full]["file"]
        if not action.exec.binary:
            place.parent.mkdir(exist_ok=True)
            place.write_text(action.exec.text, "utf-8")
            continue
        write_files(name, action.exec, place)
        for path in sorted(path for path in place.rglob("*.py") if path.is_file()):
            module, content = path.relative_to(place).as_posix(), path.read_bytes()
            owner, known = owners.setdefault(module, (name, content))
            if module != "__main__.py" and known != content:
                raise BundleError(
                    f"action {name}: its {module} differs from the {module} of action {owner}, and actions on Azure "
                    "share one process: rename one of the modules, or use the same file in both"
                )


def _elsewhere(parts: Parts) -> dict[str, JSON]:
    """The functions on other clouds, for `elsewhere.azure`."""
    return {
        full: defined(action)
        for full, action in parts.actions.items()
        if isinstance(action.exec, Remote)
    }


def _wanted(parts: Parts) -> list[str]:
    """The requirements of all actions: they share one environment."""
    wanted = [
        requirement for requirements in parts.requirements.values() for requirement in requirements
    ]
    if any(action.kind in (LAMBDA, STATES) for action in parts.actions.values()):
        wanted.append(OF_AWS)
    return list(dict.fromkeys(wanted))


def _secrets(parts: Parts) -> list[str]:
    """The commands that set the secrets of functions on other clouds."""
    names = {secret_of(action) for action in parts.actions.values()} - {None}
    settings = sorted(variable_of(name) for name in names if name)
    return [
        f"az functionapp config appsettings set --name APP --resource-group GROUP --settings {setting}=SECRET"
        for setting in settings
    ]


def storage_of(name: str) -> str:
    """The prefix of a bundle's tables and queues: its own, so that bundles may share an account."""
    digest = sha256(name.encode()).hexdigest()[:6]
    letters = re.sub(r"[^a-z0-9]+", "", name.lower())[: MAX_STORAGE - len(digest) - 1]
    return f"x{letters}{digest}"


def _code(parts: Parts) -> dict[str, dict[str, str]]:
    """The file and the main function of each action."""
    code = {}
    for full, action in parts.actions.items():
        if not isinstance(action.exec, Code):
            continue
        suffix = "" if action.exec.binary else ".py"
        file = f"actions/{action.name.path.replace('/', '.')}{suffix}"
        code[full] = {"file": file, "main": action.exec.main}
    return code


def _texts(name: str, parts: Parts, wanted: list[str]) -> dict[str, str]:
    compositions = [full.removeprefix("/_/") for full in parts.programs]
    readme = _README.format(
        name=name,
        names=", ".join(f"`{one}`" for one in compositions),
        first=compositions[-1],
        storage=storage_of(name),
        actions=", ".join(f"`{full.removeprefix('/_/')}`" for full in parts.actions)
        or "there is none",
        limit=LIMIT,
        value=f"{VALUE_BYTES:,}",
    )
    return {
        "function_app.py": _APP_ELSEWHERE if _elsewhere(parts) else _APP,
        "host.json": json.dumps(_HOST, indent=2) + "\n",
        "local.settings.json.example": json.dumps(_LOCAL, indent=2) + "\n",
        "requirements.txt": "\n".join(wanted) + "\n",
        ".funcignore": _IGNORED,
        "README.md": readme,
    }
