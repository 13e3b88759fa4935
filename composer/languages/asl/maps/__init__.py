"""The items and results of distributed Maps."""

__all__: list[str] = []
