"""The errors that this project raises on purpose.

    Error                      anything this project raises on purpose
      CompositionError         a composition that cannot be built: names the combinator and the argument
        CaptureError           an inline function whose source cannot travel to a worker
      ExpressionError          a path, predicate or template that does not parse
      InvalidNameError         an action name that OpenWhisk's grammar refuses
      ProgramError             a compiled program with a wrong version or a wrong shape
      LimitError               something larger than a configured limit
      OverlongError            an evaluation that takes more steps than the transition may take at once

The failure of an action is not an error but a value (`composer.Failure`) and travels as data.
"""

from __future__ import annotations


class Error(Exception):
    """The root of all errors that this project raises on purpose."""


class CompositionError(Error):
    """A composition that cannot be built; the text names the combinator and the argument."""


class CaptureError(CompositionError):
    """An inline function whose source cannot travel to a worker; the text says why and what to do."""


class ExpressionError(Error):
    """A path, predicate or template that does not parse."""


class InvalidNameError(Error):
    """An action name that OpenWhisk's grammar refuses."""


class ProgramError(Error):
    """A compiled program with a wrong version or a wrong shape."""


class LimitError(Error):
    """Something larger than a configured limit."""


class OverlongError(Error):
    """An evaluation that takes more steps than `Limits.at_once`. It never leaves `advance`, which stops first."""
