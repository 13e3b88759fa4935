"""The store in a DynamoDB table. Begin with `store`; `items` has the layout of the table."""

from .store import DynamoStore

__all__ = ["DynamoStore"]
