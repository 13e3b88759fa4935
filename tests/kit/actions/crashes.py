"""What is told of a worker that ends, or says what is no JSON."""

from __future__ import annotations

from xingqiao.composer import Failure

EXITED = Failure("Crashed", "The action did not produce a valid response and exited unexpectedly.")
NO_JSON = "The action did not produce a valid JSON response: "
