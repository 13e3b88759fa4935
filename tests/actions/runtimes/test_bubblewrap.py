"""The command line of bubblewrap."""

from __future__ import annotations

import pytest

from xingqiao.actions.runtimes.bubblewrap import wrapping
from xingqiao.actions.runtimes.homes import Home


def covered(command):
    return [command[at + 1] for at, word in enumerate(command) if word == "--tmpfs"]


@pytest.mark.parametrize("uid", [None, 5000])
def test_a_worker_of_another_user_passes_a_private_directory_above_its_own(tmp_path, uid):
    folder = (tmp_path / "project").resolve()
    work = folder / "data" / "work"
    work.mkdir(parents=True)
    folder.chmod(0o700)

    command = wrapping("bwrap", Home(work=work, uid=uid), (), ())

    above = {str(place) for place in (folder, *folder.parents)}  # tmp_path's parent may be private
    assert bool(above & set(covered(command))) == (uid is not None)
    made = [command[at + 1] for at, word in enumerate(command) if word == "--dir"]
    assert uid is None or str(folder / "data") in made
