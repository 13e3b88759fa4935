"""The JSONPath language of states: paths, templates, intrinsic functions, choices."""

__all__: list[str] = []
