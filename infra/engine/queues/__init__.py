"""Task queues: steps that wait for workers outside."""

__all__: list[str] = []
