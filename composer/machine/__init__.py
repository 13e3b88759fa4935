"""The machine: what a program is, and how an execution of it advances. It names no language."""

__all__: list[str] = []
