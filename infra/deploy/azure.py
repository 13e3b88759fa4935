"""Bundles for Azure: a function app in the Python v2 programming model, a folder to be published."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from typing import TYPE_CHECKING

from ...actions import Code
from .bundles import BundleError, checked, write_core
from .hosted.user_code import VALUE_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from ...composer import JSON
    from .bundles import Parts, Source

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

_REQUIREMENTS = """\
azure-functions==1.26.0
azure-data-tables==12.7.0
azure-storage-queue==12.18.1
"""

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
    parts = checked(source, "Azure")
    for full, program in parts.programs.items():
        if (size := len(json.dumps(program.to_json()))) > MAX_PROGRAM:
            raise BundleError(
                f"composition {full.removeprefix('/_/')}: the compiled program has {size} bytes, and a row of a table "
                f"on Azure holds at most {MAX_PROGRAM}: make a part of it a composition of its own"
            )
    code = _code(parts)
    deployed = {**parts.deployed(), "storage": storage_of(name), "code": code}
    write_core(folder, deployed, ["azure"])
    shutil.rmtree(folder / "actions", ignore_errors=True)
    (folder / "actions").mkdir()
    for full, action in parts.actions.items():
        assert isinstance(action.exec, Code)  # noqa: S101  it has been checked
        (folder / code[full]["file"]).write_text(action.exec.text, "utf-8")
    for file, text in _texts(name, parts).items():
        (folder / file).write_text(text, "utf-8")
    return [f"cd {folder}", "func azure functionapp publish APP"]


def storage_of(name: str) -> str:
    """The prefix of a bundle's tables and queues: its own, so that bundles may share an account."""
    digest = sha256(name.encode()).hexdigest()[:6]
    letters = re.sub(r"[^a-z0-9]+", "", name.lower())[: MAX_STORAGE - len(digest) - 1]
    return f"x{letters}{digest}"


def _code(parts: Parts) -> dict[str, dict[str, str]]:
    """The file and the main function of each action."""
    code = {}
    for full, action in parts.actions.items():
        assert isinstance(action.exec, Code)  # noqa: S101  it has been checked
        file = f"actions/{action.name.path.replace('/', '.')}.py"
        code[full] = {"file": file, "main": action.exec.main}
    return code


def _texts(name: str, parts: Parts) -> dict[str, str]:
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
        "function_app.py": _APP,
        "host.json": json.dumps(_HOST, indent=2) + "\n",
        "local.settings.json.example": json.dumps(_LOCAL, indent=2) + "\n",
        "requirements.txt": _REQUIREMENTS,
        ".funcignore": _IGNORED,
        "README.md": readme,
    }
