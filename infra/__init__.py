"""The shell: engine, stores, HTTP, command line. It assembles everything below it."""

__all__: list[str] = []
