"""Pictures and texts for people: diagrams of compositions and state machines, timelines of executions."""

__all__: list[str] = []
