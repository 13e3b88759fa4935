"""`main.tf.json`: each reference has its resource, and nobody may do more than needed.

The deployment itself follows the document: see `test_google_deployed`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from tests.kit.deploy.google_rig import Described
from xingqiao import composer
from xingqiao.infra.deploy import Source, bundle

CODE = {"kind": "python:3", "code": "def main(p): return p"}
LIMITS = {"timeout": 2_500, "memory": 128}
# The arguments of each resource: https://registry.terraform.io/providers/hashicorp/google/latest/docs
ARGUMENTS = {
    "google_project_service": {"for_each", "service", "disable_on_destroy"},
    "google_service_account": {"account_id", "display_name", "depends_on"},
    "google_storage_bucket": {"name", "location", "uniform_bucket_level_access",
                              "public_access_prevention", "force_destroy", "depends_on"},
    "google_storage_bucket_object": {"bucket", "name", "source"},
    "google_firestore_database": {"name", "location_id", "type", "deletion_policy", "depends_on"},
    "google_firestore_field": {"database", "collection", "field", "index_config"},
    "google_cloud_tasks_queue": {"name", "location", "rate_limits", "retry_config", "depends_on"},
    "google_cloudfunctions2_function": {"name", "location", "build_config", "service_config", "depends_on"},
    "google_cloud_scheduler_job": {"name", "region", "schedule", "attempt_deadline", "http_target", "depends_on"},
    "google_project_iam_member": {"project", "role", "member", "condition"},
    "google_cloud_tasks_queue_iam_member": {"name", "location", "role", "member"},
    "google_service_account_iam_member": {"service_account_id", "role", "member"},
    "google_cloud_run_v2_service_iam_member": {"name", "location", "role", "member", "for_each"},
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    actions = {"charge_card": {"exec": CODE, "limits": LIMITS}, "ship": {"exec": CODE}}
    source = Source(compositions={"order": composer.sequence(*actions)}, actions=actions)
    bundle("order", source, "google", tmp_path)
    return tmp_path


@pytest.fixture
def described(folder):
    return Described(folder, callers=["caller"])


def texts(value):
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def test_each_reference_is_to_a_resource_of_the_document(described):
    for kind in described.resources:
        described.all(kind)  # a reference to a resource that is missing is an error

    after = [
        text
        for kind in described.resources.values()
        for one in kind.values()
        for text in one.get("depends_on", [])
    ]
    assert after
    for kind, name in (text.split(".") for text in after):
        assert name in described.resources[kind]


def test_each_resource_has_only_arguments_that_the_provider_knows(described):
    for kind, resources in described.resources.items():
        assert set().union(*resources.values()) <= ARGUMENTS[kind], kind


@pytest.mark.skipif(shutil.which("terraform") is None, reason="Terraform is not installed")
def test_terraform_reads_the_document(folder):
    """It parses the blocks; to check their arguments it would download the provider."""
    done = subprocess.run(
        ["terraform", f"-chdir={folder}", "providers"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "provider[registry.terraform.io/hashicorp/google] >= 6.0.0, < 8.0.0" in done.stdout


def test_an_action_has_its_limits_and_its_account(described):
    run = described.all("google_cloudfunctions2_function")["charge-card"]["service_config"]

    assert (run["timeout_seconds"], run["available_memory"]) == (3, "128M")
    assert run["service_account_email"] == "actions"
    assert "XINGQIAO_DATABASE" not in run["environment_variables"]
    assert "XINGQIAO_STEPS" not in run["environment_variables"]


def test_a_function_has_as_many_instances_as_its_queue_sends_tasks_at_once(described):
    for key, queue in described.all("google_cloud_tasks_queue").items():
        function = described.all("google_cloudfunctions2_function")[key]
        assert queue["name"] == function["name"]
        assert (
            queue["rate_limits"]["max_concurrent_dispatches"]
            <= function["service_config"]["max_instance_count"]
        )


def test_names_are_no_longer_than_google_takes(folder):
    source = Source(compositions={"c": composer.task("a" * 60)}, actions={"a" * 60: {"exec": CODE}})
    bundle("o" * 60, source, "google", folder)
    described = Described(folder, callers=[])

    for account in described.all("google_service_account").values():
        assert re.fullmatch("[a-z][a-z0-9-]{4,28}[a-z0-9]", account["account_id"])
    for function in described.all("google_cloudfunctions2_function").values():
        assert len(function["name"]) <= 49
    assert len(described.all("google_storage_bucket")["code"]["name"]) <= 63


def test_no_permission_is_for_everything(described):
    roles = {text for text in texts(described.resources) if text.startswith("roles/")}

    assert roles == {
        "roles/artifactregistry.writer", "roles/cloudtasks.enqueuer", "roles/datastore.user",
        "roles/iam.serviceAccountUser", "roles/logging.logWriter", "roles/run.invoker", "roles/storage.objectViewer",
    }  # fmt: skip
    project = described.all("google_project_iam_member").values()
    assert {one["member"] for one in project if "condition" not in one} == {"serviceAccount:build"}
    text = json.dumps(described.document)
    assert "allUsers" not in text
    assert "allAuthenticatedUsers" not in text


def test_texts_are_not_indexed(described):
    fields = described.all("google_firestore_field").values()

    assert {one["field"] for one in fields} == {"about", "fiber", "outcome", "text"}
    assert all(one["index_config"] == {} for one in fields)
