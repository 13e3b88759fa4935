"""An environment that cannot be made is a skip with its reason, and on CI a failure."""

from __future__ import annotations

import pytest

from tests.rigs import venvs


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("CI", "false")
    monkeypatch.setenv("XINGQIAO_RIGS", str(tmp_path / "rigs"))


@pytest.mark.parametrize(
    ("ci", "verdict"), [("true", pytest.fail.Exception), ("false", pytest.skip.Exception)]
)
def test_a_compiler_that_is_missing_is_named(monkeypatch, ci, verdict):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(venvs, "COMPILED", {"lambda": "there-is-no-such-compiler"})

    with pytest.raises(verdict, match="there-is-no-such-compiler is missing"):
        venvs.python_of("lambda")


def test_requirements_that_cannot_be_had_are_told(monkeypatch, tmp_path):
    (tmp_path / "requirements-odd.txt").write_text("./there-is-no-such-folder\n")
    monkeypatch.setattr(venvs, "HERE", tmp_path)

    with pytest.raises(
        pytest.skip.Exception, match="the odd rig: its environment could not be made"
    ):
        venvs.python_of("odd")


def test_an_environment_is_made_once(monkeypatch, tmp_path):
    (tmp_path / "requirements-empty.txt").write_text("# nothing\n")
    monkeypatch.setattr(venvs, "HERE", tmp_path)

    made = venvs.python_of("empty")
    at = made.stat(follow_symlinks=False).st_ctime_ns

    assert venvs.python_of("empty") == made
    assert made.stat(follow_symlinks=False).st_ctime_ns == at
