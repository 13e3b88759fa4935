"""The packages that an action needs: which are taken, which are refused and why."""

from __future__ import annotations

import pytest

from tests.kit.actions.things import named
from xingqiao.actions import Code, InvalidError
from xingqiao.actions.definitions import define_action
from xingqiao.actions.executables import exec_to_json
from xingqiao.actions.requirements import MAX_CHARS, MAX_REQUIREMENTS

SHA256 = f"--hash=sha256:{'a' * 64}"


def defined(requirements, kind="python:3", code="def main(params): return params"):
    document = {"exec": {"kind": kind, "code": code, "requirements": requirements}}
    return define_action(named(), document, None, 1).exec


@pytest.mark.parametrize(
    "line",
    [
        "requests",
        "requests>=2.31",
        "requests >= 2.31, < 3",
        "requests (>=2.31,<3)",
        "requests[socks,security]~=2.31.0",
        "ruamel.yaml===0.18",
        "tomli==2.*; python_version < '3.11'",
        'tomli ; sys_platform == "linux" and extra != "x"',
        f"requests==2.31.0 {SHA256}",
        f"requests==2.31.0 {SHA256} --hash=sha512:{'b' * 128}",
    ],
)
def test_a_requirement_is_taken_and_shown_as_it_was_written(line):
    assert exec_to_json(defined([line]), code=False)["requirements"] == [line]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("-e .", "options such as -e"),
        ("-r other.txt", "options such as -e"),
        ("--index-url x", "options such as -e"),
        ("requests --no-binary x", "options such as -e"),
        ("requests; python_version > '3' --pre", "options such as -e"),
        ("https://user:secret@example.com/a.whl", "URLs are refused"),
        ("a @ https://user:secret@example.com/a.whl", "URLs are refused"),
        ("a[b] @ file.whl", "URLs are refused"),
        ("git+ssh://git@example.com/a", "URLs are refused"),
        ("./a", "paths of files are refused"),
        ("../a", "paths of files are refused"),
        ("/tmp/a", "paths of files are refused"),
        ("dir\\a", "paths of files are refused"),
        ("a-1.0-py3-none-any.whl", "paths of files are refused"),
        ("a-1.0.tar.gz", "paths of files are refused"),
        ("requests=2", "must be a requirement such as 'requests>=2.31', not 'requests=2'"),
        ("requests>=${SECRET}", "must be a requirement"),
        ("", "must be a requirement"),
        ("# a comment", "must be a requirement"),
        ("a\nb", "must be a requirement"),
        ("a==1 --hash=md5:abc", "has a --hash that is not one"),
        (7, "must be a string"),
    ],
)
def test_any_other_line_is_refused_with_its_place_and_the_reason(line, why):
    with pytest.raises(InvalidError, match=r"'exec.requirements\[1\]': ") as refused:
        defined(["fine", line])
    assert why in str(refused.value)
    assert "secret" not in str(refused.value)


def test_hashes_are_for_all_requirements_or_for_none():
    with pytest.raises(InvalidError, match=r"requirements\[1\]': has no --hash, and others have"):
        defined([f"a==1 {SHA256}", "b==2"])


@pytest.mark.parametrize("kind", ["python:3", "nodejs:20"])
def test_the_number_and_the_length_of_requirements_have_limits(kind):
    def of(names, longest=1):
        if kind == "python:3":
            return [*names, "a" * longest]
        return dict.fromkeys(names, "1") | {"a": "1" * longest}

    many = [f"p{n}" for n in range(MAX_REQUIREMENTS - 1)]
    assert len(defined(of(many), kind).requirements) == MAX_REQUIREMENTS
    with pytest.raises(InvalidError, match=f"has {MAX_REQUIREMENTS + 1} packages"):
        defined(of([*many, "more"]), kind)
    assert defined(of([], MAX_CHARS), kind).requirements
    with pytest.raises(InvalidError, match=f"has {MAX_CHARS + 1} characters: at most"):
        defined(of([], MAX_CHARS + 1), kind)


@pytest.mark.parametrize(("kind", "wrong"), [("python:3", {"a": "1"}), ("nodejs:20", ["a"])])
def test_each_kind_has_its_own_form(kind, wrong):
    with pytest.raises(InvalidError, match=r"'exec.requirements': must be (a list|an object)"):
        defined(wrong, kind)


def test_node_takes_an_object_of_ranges():
    ranges = {"lodash": "^4.17.21", "@scope/name": ">=1.2 <2 || 3.x", "left-pad": "", "b": "latest"}

    execution = defined(ranges, "nodejs:20")

    assert exec_to_json(execution, code=False)["requirements"] == ranges


@pytest.mark.parametrize(
    ("name", "range", "why"),
    [
        ("../evil", "1", "cannot be the name of a package"),
        ("A B", "1", "cannot be the name of a package"),
        ("a", 1, "'exec.requirements.a': must be a string"),
        ("a", "git+ssh://git@github.com/a/b", "URLs are refused"),
        ("a", "npm:b@1", "URLs are refused"),
        ("a", "file:../b", "paths of files are refused"),
        ("a", "user/repository", "paths of files are refused"),
        ("a", "1 $HOME", "must be a range such as '^4.17.21', not '1 $HOME'"),
    ],
)
def test_node_refuses_other_names_and_ranges(name, range, why):
    with pytest.raises(InvalidError) as refused:
        defined({name: range}, "nodejs:20")
    assert why in str(refused.value)


@pytest.mark.parametrize("none", [None, []])
def test_no_requirements_are_not_shown(none):
    assert exec_to_json(defined(none), code=True) == {
        "kind": "python:3", "binary": False, "code": "def main(params): return params",
    }  # fmt: skip


def test_warm_workers_of_other_requirements_are_not_shared():
    same = {"kind": "python:3", "text": "x"}
    hashes = {Code(**same, requirements=needed).hash for needed in ((), ("a",), ("b",), ("a", "b"))}
    assert len(hashes) == 4
