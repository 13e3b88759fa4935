"""AWS Step Functions: its API, state machines, activities, integrations and the items of Maps."""

__all__: list[str] = []
