"""Types of documents that `checking` has accepted: their fields have the types that the specification gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Definition: TypeAlias = Mapping[str, Any]
"""A state machine: `StartAt`, `States`, ... A branch of a Parallel and the processor of a Map are like it."""

StateDoc: TypeAlias = Mapping[str, Any]
"""One state of a definition: `Type`, and the fields that a state of its type may have."""

StatePart: TypeAlias = Mapping[str, Any]
"""An object in a state: an entry of Retry, Catch or Choices, an ItemReader, a ReaderConfig, ..."""
