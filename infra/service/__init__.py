"""The service put together: the one place that names concretes, its process, and the embedded door."""

__all__: list[str] = []
