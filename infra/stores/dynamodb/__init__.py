"""The store in a DynamoDB table. Begin with `store`; how rows lie in the table is in `items`."""

from .store import DynamoStore

__all__ = ["DynamoStore"]
