"""The requirements of actions: what is installed, for which machine, and what the errors say."""

from __future__ import annotations

import pytest

from tests.kit.deploy.archives import wheel
from xingqiao.infra.deploy import BundleError
from xingqiao.infra.deploy.options import ARM, X86
from xingqiao.infra.deploy.requirements import Installer, check_size, requirements_of

PYTHON, NODE = "python:3", "nodejs:20"


def installed(tmp_path, requirements, *, platform=X86, python="3.12"):
    with Installer(platform, python, tmp_path / "wheels") as installer:
        installer.install("a", requirements, tmp_path / "site")
    return sorted(path.name for path in (tmp_path / "site").glob("*.py"))


def test_wheels_of_a_folder_are_installed_with_what_they_need(tmp_path):
    wheel(tmp_path / "wheels", "one", needs=["two"])
    wheel(tmp_path / "wheels", "two")

    assert installed(tmp_path, ["one==1.0"]) == ["one.py", "two.py"]


@pytest.mark.parametrize(("platform", "machine"), [(X86, "x86_64"), (ARM, "aarch64")])
def test_a_wheel_is_chosen_for_the_processor_and_the_python_of_the_target(
    tmp_path, platform, machine
):
    for of in ("x86_64", "aarch64"):
        for python in ("cp311", "cp312"):
            tag = f"{python}-{python}-manylinux2014_{of}"
            wheel(tmp_path / "wheels", "one", source=f"here = {python + of!r}", tag=tag)

    installed(tmp_path, ["one"], platform=platform)

    assert (tmp_path / "site/one.py").read_text() == f"here = 'cp312{machine}'"


def test_equal_requirements_are_installed_once(tmp_path):
    wheel(tmp_path / "wheels", "one")
    with Installer(X86, "3.12", tmp_path / "wheels") as installer:
        installer.install("a", ["one"], tmp_path / "a")
        (tmp_path / "wheels/one-1.0-py3-none-any.whl").unlink()
        installer.install("b", ["one"], tmp_path / "b")

    assert (tmp_path / "b/one.py").exists()


def test_an_error_has_the_installers_last_lines(tmp_path):
    (tmp_path / "wheels").mkdir()

    with pytest.raises(
        BundleError,
        match=r"(?s)action a: the requirements cannot be installed:\n.*nothing-like-this",
    ):
        installed(tmp_path, ["nothing-like-this"])


def test_packages_of_node_do_not_come_from_wheels(tmp_path):
    with pytest.raises(
        BundleError, match="action a: --wheels has packages for Python only: put 'node_modules'"
    ):
        installed(tmp_path, {"left-pad": "1"})


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        (PYTHON, {"requests": "1"}, "'exec.requirements' must be a list of requirements"),
        (PYTHON, ["--index-url=x"], "'--index-url=x' is not a requirement"),
        (PYTHON, ["one\n--pre"], "is not a requirement"),
        (PYTHON, [1], "1 is not a requirement"),
        (NODE, ["left-pad"], "'exec.requirements' must be an object"),
        (NODE, {"../x": "1"}, "'../x' must be the name of a package"),
        (NODE, {"left-pad": 1}, "'left-pad' must be the name of a package, with a version"),
    ],
)
def test_what_is_malformed_says_how_it_must_be(kind, given, says):
    with pytest.raises(BundleError) as refused:
        requirements_of("a", {"kind": kind, "requirements": given})

    assert str(refused.value).startswith("action a: ")
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "given", "read"),
    [
        (PYTHON, None, []),
        (NODE, None, {}),
        (
            PYTHON,
            ["requests[socks]>=2 ; python_version > '3'"],
            ["requests[socks]>=2 ; python_version > '3'"],
        ),
        (NODE, {"@aws-sdk/client-s3": "^3"}, {"@aws-sdk/client-s3": "^3"}),
    ],
)
def test_what_is_right_is_read(kind, given, read):
    assert requirements_of("a", {"kind": kind, "requirements": given}) == read


def test_a_folder_may_be_as_large_as_the_limit_and_not_larger(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/file").write_bytes(b"x" * 100)

    check_size("action a", tmp_path, 100, "Lambda")
    with pytest.raises(
        BundleError, match=r"action a: .* have 100 bytes unpacked, and Lambda allows 99"
    ):
        check_size("action a", tmp_path, 99, "Lambda")
