"""The words that only a state machine's history has, beside those of `history`."""

from __future__ import annotations

from typing import Final

STATE_ENTERED: Final = "StateEntered"
STATE_EXITED: Final = "StateExited"
STATE_STARTED: Final = "StateStarted"
STATE_FAILED: Final = "StateFailed"
EVALUATION_FAILED: Final = "EvaluationFailed"
