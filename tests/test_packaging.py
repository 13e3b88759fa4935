"""The files in packaging/: what they name exists, and what can be run is run."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.kit.infra.servers import AUTH, XINGQIAO, running
from xingqiao.infra.cli.serve import serve
from xingqiao.infra.settings import Settings

ROOT = Path(__file__).parents[1]
HERE = ROOT / "packaging"
PORT = "3233"
USER = 10001
LARGEST_MB = 67  # of a function that is uploaded: docs/operations.md
BLOCKING_S, IDLE_S = 60, Settings().idle_s


def instructions():
    """The instructions of the Dockerfile: (name, the rest)."""
    text = re.sub(r"^#.*\n", "", (HERE / "Dockerfile").read_text(), flags=re.MULTILINE)
    return [tuple(line.split(None, 1)) for line in text.replace("\\\n", "").split("\n") if line]


def the(name):
    """The last instruction of a name."""
    return [rest for found, rest in instructions() if found == name][-1].strip()


def compose():
    (service,) = yaml.safe_load((HERE / "compose.yaml").read_text())["services"].values()
    return service


def manifests():
    found = yaml.safe_load_all((HERE / "kubernetes.yaml").read_text())
    return {document["kind"]: document for document in found}


def pod():
    return manifests()["StatefulSet"]["spec"]["template"]["spec"]


def unit(file=HERE / "xingqiao.service"):
    found = configparser.ConfigParser(interpolation=None)
    found.optionxform = str
    found.read(file)
    return found


COMMANDS = {
    "Dockerfile": json.loads(the("CMD")),
    "compose.yaml": compose()["command"],
    "kubernetes.yaml": pod()["containers"][0]["args"],
    "xingqiao.service": shlex.split(unit()["Service"]["ExecStart"])[1:],
}
GRACE_S = {
    "compose.yaml": int(compose()["stop_grace_period"].rstrip("s")),
    "kubernetes.yaml": pod()["terminationGracePeriodSeconds"],
    "xingqiao.service": int(unit()["Service"]["TimeoutStopSec"]),
}


@pytest.mark.parametrize("file", COMMANDS)
def test_the_command_that_a_file_names_can_be_given(file):
    name, *options = COMMANDS[file]

    context = serve.make_context(name, [*options])

    assert name == "serve"
    assert Settings.from_environment({}, **context.params).port == int(PORT)


@pytest.mark.parametrize("path", sorted(HERE.iterdir()), ids=lambda path: path.name)
def test_the_variables_that_a_file_names_are_settings(path):
    named = set(re.findall(r"\bXINGQIAO_([A-Z_]+)", path.read_text()))

    assert {name.lower() for name in named} <= set(Settings.__dataclass_fields__)


@pytest.mark.parametrize("file", GRACE_S)
def test_a_server_has_the_time_that_its_steps_are_given(file):
    assert GRACE_S[file] > Settings().grace_s


# --- containers ------------------------------------------------------------------------------------


def test_the_image_takes_every_part_of_the_package_and_nothing_that_is_missing():
    copied = [word for name, rest in instructions() if name == "COPY" and "--from" not in rest
              for word in rest.split()[:-1]]  # fmt: skip
    links = {path.name for path in (ROOT / "src" / "xingqiao").iterdir() if path.is_symlink()}

    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert {"src", "pyproject.toml", "requirements.lock", *links} <= set(copied)


def test_the_image_does_not_run_as_root_and_keeps_its_data_in_a_volume():
    assert the("USER") == f"{USER}:{USER}"
    assert f"XINGQIAO_DATA={the('VOLUME')}" in the("ENV")
    assert f"--owner {USER} --group {USER}" in the("RUN")
    assert json.loads(the("ENTRYPOINT")) == ["xingqiao"]  # no shell: it must get the signals
    assert the("EXPOSE") == PORT


def test_the_health_check_of_the_image_finds_a_server_and_misses_one_that_has_stopped(tmp_path):
    python, *arguments = json.loads(the("HEALTHCHECK").partition("CMD ")[2])
    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        found = server.url.removeprefix("http://127.0.0.1:")
        asked = [sys.executable, *(part.replace(PORT, found) for part in arguments)]
        healthy = subprocess.run(asked, capture_output=True, check=False)
    stopped = subprocess.run(asked, capture_output=True, check=False)

    assert python == "python"
    assert (healthy.returncode, stopped.returncode) == (0, 1)


def test_the_compose_file_confines_its_container():
    service = compose()
    build = service["build"]

    assert (HERE / build["context"] / build["dockerfile"]).samefile(HERE / "Dockerfile")
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert service["volumes"] == [f"data:{the('VOLUME')}"]


# --- Kubernetes ------------------------------------------------------------------------------------


def test_the_manifest_has_one_pod_with_a_volume_of_its_own():
    spec = manifests()["StatefulSet"]["spec"]
    (claim,) = spec["volumeClaimTemplates"]
    (container,) = pod()["containers"]
    (port,) = container["ports"]

    assert spec["replicas"] == 1
    volumes = {claim["metadata"]["name"], *(volume["name"] for volume in pod()["volumes"])}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert manifests()["Service"]["spec"]["selector"] == spec["selector"]["matchLabels"]
    assert port["containerPort"] == int(PORT)


def test_kubernetes_sets_no_setting_of_the_server_by_itself():
    assert manifests()["Service"]["metadata"]["name"] == "xingqiao"  # so its port is XINGQIAO_PORT
    assert pod()["enableServiceLinks"] is False


def test_the_manifest_probes_the_pod_and_confines_it():
    (container,) = pod()["containers"]

    assert container["readinessProbe"]["httpGet"] == {"path": "/health", "port": "http"}
    for name in ("startupProbe", "livenessProbe"):  # a full disk is no reason for a restart
        assert container[name]["tcpSocket"] == {"port": "http"}
    assert pod()["securityContext"]["runAsUser"] == USER
    assert pod()["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


# --- systemd ---------------------------------------------------------------------------------------


def test_the_unit_gives_the_server_its_directory_and_its_cgroup():
    service = unit()["Service"]

    assert f"--data /var/lib/{service['StateDirectory']}" in service["ExecStart"]
    assert service["Delegate"].split() == ["memory", "pids"]
    assert service["KillMode"] == "mixed"
    for name in ("RestrictNamespaces", "ProtectKernelTunables", "ProtectControlGroups"):
        assert name not in service  # bubblewrap and cgroups need what these take away


def test_systemd_accepts_the_unit(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:  # a machine without systemd has nothing to say about units
        return
    copy = tmp_path / "xingqiao.service"
    text = (HERE / "xingqiao.service").read_text()
    copy.write_text(text.replace("/opt/xingqiao/bin/xingqiao", str(XINGQIAO)))

    done = subprocess.run([program, "verify", copy], capture_output=True, text=True, check=False)

    told = [line for line in done.stderr.splitlines() if str(copy) in line or copy.name in line]
    assert [line for line in told if "DelegateSubgroup" not in line] == []  # systemd 254 knows it


# --- reverse proxies -------------------------------------------------------------------------------

PROXIES = {  # file: its size of a body, its wait for a response, its idle connections to the server
    "Caddyfile": (r"max_size (\d+)MB", r"response_header_timeout (\d+)s", r"keepalive (\d+)s"),
    "nginx.conf": (
        r"client_max_body_size (\d+)m;", r"proxy_read_timeout (\d+)s;", r"keepalive_timeout (\d+)s;",
    ),
}  # fmt: skip


@pytest.mark.parametrize("file", PROXIES)
def test_a_proxy_keeps_to_the_times_and_sizes_of_the_server(file):
    text = (HERE / file).read_text()
    size_mb, response_s, idle_s = (int(re.search(form, text)[1]) for form in PROXIES[file])

    assert size_mb >= LARGEST_MB
    assert response_s >= BLOCKING_S + 5
    assert idle_s < IDLE_S
    assert f"127.0.0.1:{PORT}" in text
