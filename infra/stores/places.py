"""The names of the places of bodies. A sealed body is bound to its place."""

from __future__ import annotations


def execution_place(id: str) -> bytes:
    return b"execution/" + id.encode()


def fiber_place(execution: str, fiber: str) -> bytes:
    return f"fiber/{execution}/{fiber}".encode()


def history_place(execution: str, first: int) -> bytes:
    return f"history/{execution}/{first}".encode()


def activation_place(id: str) -> bytes:
    return b"activation/" + id.encode()


def value_place(execution: str, key: str) -> bytes:
    return f"value/{execution}/{key}".encode()


def document_place(kind: str, key: str) -> bytes:
    return f"document/{kind}/{key}".encode()
