"""Entities in the engine's memory, and transactions in doubt among them."""

__all__: list[str] = []
