"""A group of the kernel's, where this machine has one to give."""

from __future__ import annotations

import os

import pytest

from tests.kit.actions.workers import small_pool
from xingqiao.actions.runtimes.cgroupfs import CgroupError, KernelTree, find_place
from xingqiao.actions.runtimes.groups import end


@pytest.fixture
def kernel_group():
    """An empty group of cgroup v2; without one, the test is skipped with what the kernel says."""
    try:
        place = find_place()
        made = place.own / f"xingqiao-test-{os.getpid()}"
        end(KernelTree(), made)
        KernelTree().make(made)
    except (CgroupError, OSError) as error:
        pytest.skip(f"this machine lets nobody make cgroups: {error}")
    yield made
    end(KernelTree(), made)


@pytest.fixture
async def pool(tmp_path):
    """A pool of few workers with small bounds."""
    async with small_pool(tmp_path) as made:
        yield made
