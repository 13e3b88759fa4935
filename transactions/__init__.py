"""Transactions across stateful functions: entities, sagas, two-phase commits. There are none yet."""

__all__: list[str] = []
