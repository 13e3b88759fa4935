"""Compositions written as state machines of the States Language."""

__all__: list[str] = []
