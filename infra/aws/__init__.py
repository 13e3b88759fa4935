"""Shared by both of AWS' doors: signatures, errors, shapes, functions, integrations."""

__all__: list[str] = []
