"""Transactions (2PC): the coordinator, and what its instructions do."""

__all__: list[str] = []
