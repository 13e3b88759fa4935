"""Waits until a saga stands in some way."""

from __future__ import annotations

LOOKS = 1000  # each is a request, so that time passes


def stands(xingqiao, id, status, places=0):
    """Waits until an execution has this status, stuck at this number of places. Returns its document."""
    for _ in range(LOOKS):
        ended = xingqiao("saga", "show", id, "--json")
        found = ended.json if ended.code == 0 else {"status": ended.err, "fibers": []}
        waits = [fiber["waits"] for fiber in found["fibers"]]
        if found["status"] == status and (not places or waits.count("operator") == places):
            return found
    raise AssertionError(f"it has not come to {status}: {found}")
