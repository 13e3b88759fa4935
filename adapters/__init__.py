"""Functions on clouds as actions, one module a cloud. There are none yet."""

__all__: list[str] = []
