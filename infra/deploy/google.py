"""Bundles for Google Cloud: Cloud Run functions with Firestore and Cloud Tasks, deployed by Terraform."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from typing import TYPE_CHECKING

from ...actions import Code
from .bundles import check_program_size, checked, write_core, write_hosted, write_zip
from .google_terraform import document, entry_point
from .hosted.user_code import VALUE_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from ...composer import JSON
    from .bundles import Parts, Source

MAX_PROGRAM = 900_000  # a document of Firestore has at most 1 MiB
MAX_SERVICE = 20  # an account's name has at most 30 characters, with `-conductor`
MAX_KEY = 20  # a service's name has at most 49 characters
DIGEST = 6
RESERVED = ("conductor", "http")
CONDUCTOR, ACTIONS = "conductor", "actions"

_CONDUCTOR = '''\
"""The functions `http` and `conductor`. Made by `xingqiao bundle`."""

from pathlib import Path

from xingqiao.infra.deploy.hosted.google import Host

HOST = Host(Path(__file__).parent)


def http(request):
    return HOST.answer(request)


def conductor(request):
    return HOST.conduct(request)
'''

_ACTIONS = '''\
"""The functions of the actions. Made by `xingqiao bundle`."""

from pathlib import Path

from xingqiao.infra.deploy.hosted.google_actions import wrapped

HERE = Path(__file__).parent / "code"

'''

_REQUIREMENTS = "functions-framework==3.10.2\n"

_README = """\
# {name} on Google Cloud

Compositions: {names}.

`xingqiao bundle --target google` wrote this folder: Cloud Run functions for Python 3.12, and `main.tf.json`,
which deploys the functions with Terraform 1.5 or later. PROJECT is the id of a project with billing:

```
gcloud auth application-default login
terraform init
terraform apply -var project=PROJECT -var 'callers=["user:you@example.com"]'
```

`region` (default `us-central1`) is another variable. `callers` are the members that may call the functions'
API; without `callers` nobody can. Terraform keeps its state in this folder, unless you add a backend in a
file of your own, `backend.tf`. `terraform destroy` removes all resources; it keeps the database with the
executions until you set `deletion_policy` in `main.tf.json` to `DELETE`.

```
URL=$(terraform output -raw url)
curl -X POST "$URL/{first}" -H "Authorization: Bearer $(gcloud auth print-identity-token)" -d '{{}}'
```

returns 202 with the id of an execution. The header `Location` has the path of its state. With the header
`Idempotency-Key`, a repeated request begins no second execution.

| function | called by | work |
|---|---|---|
| `{service}-http` | you: POST /{{composition}}, GET and DELETE /executions/{{id}} | begins, shows, cancels an execution |
| `{service}-conductor` | the queue `{service}-conductor`, and Cloud Scheduler each minute | advances an execution; fires timers that are far off, handles missing answers, removes old documents |
{actions}

No function waits for another. Inline functions run in `{service}-conductor`. A function handles one request at
a time; the platform starts more instances as the queue grows. An action is invoked at least once: use
`__OW_IDEMPOTENCY_KEY` in its environment to avoid repeating a side effect.

The actions run as the service account `{service}-actions`, which may only send answers to the conductor. Give
this account the roles that your code needs.

A value has at most {value} bytes. You can read an execution for seven days after its end.
"""


def write(name: str, source: Source, folder: Path) -> list[str]:
    """Writes the functions' code, the same zipped, `main.tf.json` and a README. See `targets.bundle`."""
    parts = checked(source, "Google Cloud")
    for full, program in parts.programs.items():
        check_program_size(
            full, len(json.dumps(program.to_json())), MAX_PROGRAM, "a document of Firestore"
        )
    service, keys = service_of(name), _keys(parts)
    _write_conductor(folder / CONDUCTOR, {**parts.deployed(), "functions": dict(keys)})
    write_zip(folder / CONDUCTOR, folder / f"{CONDUCTOR}.zip")
    _write_actions(folder, parts, keys)
    described = document(service, {keys[full]: action for full, action in parts.actions.items()})
    (folder / "main.tf.json").write_text(json.dumps(described, indent=2) + "\n", "utf-8")
    (folder / "README.md").write_text(_readme(name, service, parts, keys), "utf-8")
    return [f"cd {folder}", "terraform init", "terraform apply -var project=PROJECT"]


def service_of(name: str) -> str:
    """The beginning of the names of all resources: lower case letters, digits and hyphens, a letter first.

    A name that had to be changed gets a digest, so that no two bundles share resources.
    """
    words = _words(name, "x")
    return (
        words
        if words == name and len(words) <= MAX_SERVICE
        else _with_digest(words, name, MAX_SERVICE)
    )


def _keys(parts: Parts) -> dict[str, str]:
    """The name of each action's function, none twice."""
    keys: dict[str, str] = {}
    for full in parts.actions:
        key = _words(full.removeprefix("/_/"), "a")
        if key in keys.values() or key in RESERVED or len(key) > MAX_KEY:
            key = _with_digest(key, full, MAX_KEY)
        keys[full] = key
    return keys


def _words(name: str, first: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return words if words and words[0].isalpha() else f"{first}-{words}".rstrip("-")


def _with_digest(words: str, name: str, most: int) -> str:
    digest = sha256(name.encode()).hexdigest()[:DIGEST]
    return f"{words[: most - DIGEST - 1].rstrip('-')}-{digest}"


def _write_conductor(folder: Path, deployed: dict[str, JSON]) -> None:
    write_core(folder, deployed, ["google"])
    (folder / "main.py").write_text(_CONDUCTOR, "utf-8")
    (folder / "requirements.txt").write_text(_REQUIREMENTS, "utf-8")


def _write_actions(bundle: Path, parts: Parts, keys: dict[str, str]) -> None:
    """Writes the folder of the actions and its archive, if there is an action."""
    folder, archive = bundle / ACTIONS, bundle / f"{ACTIONS}.zip"
    shutil.rmtree(folder, ignore_errors=True)
    archive.unlink(missing_ok=True)
    if not parts.actions:
        return
    write_hosted(folder, ["google_actions"])
    (folder / "code").mkdir()
    text = _ACTIONS
    for full, action in parts.actions.items():
        assert isinstance(action.exec, Code)  # noqa: S101  it has been checked
        key, once = keys[full], action.at_most_once
        (folder / "code" / f"{key}.py").write_text(action.exec.text, "utf-8")
        text += f'{entry_point(key)} = wrapped(HERE / "{key}.py", {action.exec.main!r}, at_most_once={once})\n'
    (folder / "main.py").write_text(text, "utf-8")
    (folder / "requirements.txt").write_text(_REQUIREMENTS, "utf-8")
    write_zip(folder, archive)


def _readme(name: str, service: str, parts: Parts, keys: dict[str, str]) -> str:
    names = [full.removeprefix("/_/") for full in parts.programs]
    return _README.format(
        name=name,
        service=service,
        names=", ".join(f"`{one}`" for one in names),
        first=names[-1],
        actions="\n".join(
            f"| `{service}-{key}` | the queue `{service}-{key}` | runs the action `{full.removeprefix('/_/')}` |"
            for full, key in keys.items()
        )
        or "| (no action) | | |",
        value=f"{VALUE_BYTES:,}",
    )
