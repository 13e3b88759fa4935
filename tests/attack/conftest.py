"""What attacks share: how hard they hit, and where they write what they saw.

The tests of this folder run with the others at scale 1. `make attack` runs them alone at a larger
scale and prints their figures, which `docs/reliability.md` shows.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def scale():
    """How many times the smallest load: rounds, requests and connections are multiplied by it."""
    return int(os.environ.get("ATTACK_SCALE", "1"))


@pytest.fixture
def figures(request):
    """Writes down what an attack saw: `figures(rounds=3, lost=0)`. It asserts nothing."""

    def write(**seen):
        target = os.environ.get("ATTACK_FIGURES")
        if target is not None:
            with Path(target).open("a") as file:
                file.write(json.dumps({"attack": request.node.name, **seen}) + "\n")

    return write
