"""Sagas: what they remember, and what their instructions do."""

__all__: list[str] = []
