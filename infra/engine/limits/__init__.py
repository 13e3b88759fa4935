"""Limits that wait: executions that stand in line for a slot, and steps that wait for others of their action."""

__all__: list[str] = []
