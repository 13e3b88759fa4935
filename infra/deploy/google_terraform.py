"""The resources of a bundle on Google Cloud, as Terraform reads them in `main.tf.json`.

Accounts, each with nothing but the roles that are listed beside it:

    SERVICE-conductor  runs `http` and `conductor`: documents of the bundle's database, tasks in the bundle's queues
    SERVICE-actions    runs the actions: tasks in the queue of the conductor
    SERVICE-answers    in tasks to the conductor, and in the clock's requests: may invoke the conductor
    SERVICE-steps      in tasks to actions: may invoke the actions
    SERVICE-build      builds the functions
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .hosted.google_table import COLLECTION, TEXTS
from .hosted.google_tasks import CONDUCTOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...actions import Action

RUNTIME = "python312"
HTTP = "http"
REGION = "us-central1"
CONDUCTOR_S, CONDUCTOR_MB = 28, 512
INSTANCES = 100  # of a function at most
RETRIES = 100  # of a task: an outage of hours
APIS = (
    "artifactregistry", "cloudbuild", "cloudfunctions", "cloudscheduler", "cloudtasks", "firestore", "iam", "run",
)  # fmt: skip
# As Google documents for an account that builds functions.
BUILDS = ("artifactregistry.writer", "logging.logWriter", "storage.objectViewer")
ACCOUNTS = {
    "conductor": "runs the conductor",
    "actions": "runs the actions",
    "answers": "invokes the conductor",
    "steps": "invokes the actions",
    "build": "builds the functions",
}

Block = dict[str, Any]


def entry_point(key: str) -> str:
    """The Python function of an action's function."""
    return f"action_{key.replace('-', '_')}"


def document(service: str, actions: Mapping[str, Action]) -> Block:
    """`main.tf.json`, for the actions by the names of their functions."""
    queues = [CONDUCTOR, *actions]
    return {
        "//": "Written by xingqiao bundle. Put changes into another file, such as override.tf.",
        "terraform": {
            "required_version": ">= 1.5",
            "required_providers": {
                "google": {"source": "hashicorp/google", "version": ">= 6.0, < 8.0"}
            },
        },
        "variable": {
            "project": {"type": "string", "description": "Project id."},
            "region": {"type": "string", "default": REGION, "description": "Region."},
            "callers": {
                "type": "list(string)",
                "default": [],
                "description": "Members that may call the API, such as user:you@example.com.",
            },
        },
        "provider": {"google": {"project": "${var.project}", "region": "${var.region}"}},
        "data": {"google_project": {"this": {"project_id": "${var.project}"}}},
        "resource": {
            "google_project_service": {"api": _apis()},
            "google_service_account": {
                name: _account(service, name, purpose) for name, purpose in ACCOUNTS.items()
            },
            "google_storage_bucket": {"code": _bucket(service)},
            "google_storage_bucket_object": {
                name: _archive(name) for name in (CONDUCTOR, "actions")[: 1 + bool(actions)]
            },
            "google_firestore_database": {"state": _database(service)},
            "google_firestore_field": {text: _unindexed(text) for text in TEXTS},
            "google_cloud_tasks_queue": {key: _queue(service, key) for key in queues},
            "google_cloudfunctions2_function": {
                HTTP: _conductor(service, HTTP),
                CONDUCTOR: _conductor(service, CONDUCTOR),
                **{key: _action(service, key, action) for key, action in actions.items()},
            },
            "google_cloud_scheduler_job": {"minute": _clock(service)},
            **_permissions(service, list(actions)),
        },
        "output": {"url": {"value": _url(service, HTTP), "description": "URL of the API."}},
    }


# --- resources -------------------------------------------------------------------------------------


def _apis() -> Block:
    return {
        "for_each": "${toset("
        + str([f"{api}.googleapis.com" for api in APIS]).replace("'", '"')
        + ")}",
        "service": "${each.value}",
        "disable_on_destroy": False,
    }


_AFTER_APIS = ["google_project_service.api"]


def _account(service: str, name: str, purpose: str) -> Block:
    return {
        "account_id": f"{service}-{name}",
        "display_name": f"{service}: {purpose}",
        "depends_on": _AFTER_APIS,
    }


def _bucket(service: str) -> Block:
    return {
        "name": "${var.project}-" + f"{service}-code",
        "location": "${var.region}",
        "uniform_bucket_level_access": True,
        "public_access_prevention": "enforced",
        "force_destroy": True,
    }


def _archive(name: str) -> Block:
    file = "${path.module}/" + f"{name}.zip"
    return {
        "bucket": "${google_storage_bucket.code.name}",
        "name": f"{name}-" + '${filemd5("' + file + '")}.zip',
        "source": file,
    }


def _database(service: str) -> Block:
    return {
        "name": service,
        "location_id": "${var.region}",
        "type": "FIRESTORE_NATIVE",
        "deletion_policy": "ABANDON",
        "depends_on": _AFTER_APIS,
    }


def _unindexed(field: str) -> Block:
    """A field without an index: it is long, and nobody looks for it."""
    return {
        "database": "${google_firestore_database.state.name}",
        "collection": COLLECTION,
        "field": field,
        "index_config": {},
    }


def _queue(service: str, key: str) -> Block:
    return {
        "name": f"{service}-{key}",
        "location": "${var.region}",
        # No more than there are instances: a request that finds none is an error.
        "rate_limits": {"max_concurrent_dispatches": INSTANCES},
        "retry_config": {
            "max_attempts": RETRIES,
            "min_backoff": "1s",
            "max_backoff": "600s" if key == CONDUCTOR else "60s",
        },
        "depends_on": _AFTER_APIS,
    }


def _url(service: str, function: str) -> str:
    """The deterministic URL of a function's service."""
    return (
        f"https://{service}-{function}-${{data.google_project.this.number}}.${{var.region}}.run.app"
    )


def _environment(service: str) -> dict[str, str]:
    place = "projects/${var.project}/locations/${var.region}"
    return {
        "XINGQIAO_QUEUES": f"{place}/queues/{service}-",
        "XINGQIAO_URL": _url(service, "{function}"),
        "XINGQIAO_ANSWERS": "${google_service_account.answers.email}",
    }


def _function(service: str, key: str, entry: str, archive: str, run: Block) -> Block:
    return {
        "name": f"{service}-{key}",
        "location": "${var.region}",
        "build_config": {
            "runtime": RUNTIME,
            "entry_point": entry,
            "service_account": "${google_service_account.build.id}",
            "source": {
                "storage_source": {
                    "bucket": "${google_storage_bucket.code.name}",
                    "object": "${google_storage_bucket_object." + archive + ".name}",
                }
            },
        },
        "service_config": {
            "max_instance_count": INSTANCES,
            "max_instance_request_concurrency": 1,
            **run,
        },
        "depends_on": [
            *_AFTER_APIS,
            *(f"google_project_iam_member.build_{_word(role)}" for role in BUILDS),
        ],
    }


def _conductor(service: str, key: str) -> Block:
    run = {
        "available_memory": f"{CONDUCTOR_MB}M",
        "timeout_seconds": CONDUCTOR_S,
        "service_account_email": "${google_service_account.conductor.email}",
        "environment_variables": {
            **_environment(service),
            "XINGQIAO_DATABASE": "projects/${var.project}/databases/${google_firestore_database.state.name}",
            "XINGQIAO_STEPS": "${google_service_account.steps.email}",
        },
    }
    return _function(service, key, key, CONDUCTOR, run)


def _action(service: str, key: str, action: Action) -> Block:
    run = {
        "available_memory": f"{action.limits.memory_mb}M",
        "timeout_seconds": -(-action.limits.timeout_ms // 1000),
        "service_account_email": "${google_service_account.actions.email}",
        "environment_variables": _environment(service),
    }
    return _function(service, key, entry_point(key), "actions", run)


def _clock(service: str) -> Block:
    url = _url(service, CONDUCTOR)
    return {
        "name": f"{service}-minute",
        "region": "${var.region}",
        "schedule": "* * * * *",
        "attempt_deadline": "30s",
        "http_target": {
            "http_method": "POST",
            "uri": f"{url}/sweep",
            "oidc_token": {
                "service_account_email": "${google_service_account.answers.email}",
                "audience": url,
            },
        },
        "depends_on": _AFTER_APIS,
    }


# --- permissions -----------------------------------------------------------------------------------


def _member(account: str) -> str:
    return "serviceAccount:${google_service_account." + account + ".email}"


def _word(role: str) -> str:
    return role.replace(".", "_").lower()


def _permissions(service: str, actions: list[str]) -> Block:
    """Each account may do what it does, to what it does it to."""
    database = f'resource.name == "projects/${{var.project}}/databases/{service}"'
    on_project: Block = {
        f"build_{_word(role)}": {
            "project": "${var.project}",
            "role": f"roles/{role}",
            "member": _member("build"),
        }
        for role in BUILDS
    }
    on_project["conductor_documents"] = {
        "project": "${var.project}",
        "role": "roles/datastore.user",
        "member": _member("conductor"),
        "condition": {"title": f"only the database {service}", "expression": database},
    }
    sends = [("conductor", key) for key in (CONDUCTOR, *actions)]
    sends += [("actions", CONDUCTOR)][: len(actions)]
    signs = [("conductor", "answers"), ("conductor", "steps"), ("actions", "answers")]
    calls = [("answers", CONDUCTOR), *(("steps", key) for key in actions)]
    return {
        "google_project_iam_member": on_project,
        "google_cloud_tasks_queue_iam_member": {
            f"{account}_sends_to_{queue}": {
                "name": "${google_cloud_tasks_queue." + queue + ".name}",
                "location": "${var.region}",
                "role": "roles/cloudtasks.enqueuer",
                "member": _member(account),
            }
            for account, queue in sends
        },
        "google_service_account_iam_member": {
            f"{account}_signs_as_{other}": {
                "service_account_id": "${google_service_account." + other + ".name}",
                "role": "roles/iam.serviceAccountUser",
                "member": _member(account),
            }
            for account, other in signs
        },
        "google_cloud_run_v2_service_iam_member": {
            **{f"{account}_calls_{key}": _invoker(key, _member(account)) for account, key in calls},
            "callers": {"for_each": "${toset(var.callers)}", **_invoker(HTTP, "${each.value}")},
        },
    }


def _invoker(key: str, member: str) -> Block:
    return {
        "name": "${google_cloudfunctions2_function." + key + ".name}",
        "location": "${var.region}",
        "role": "roles/run.invoker",
        "member": member,
    }
