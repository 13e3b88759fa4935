"""Definitions checked as AWS checks them."""

__all__: list[str] = []
