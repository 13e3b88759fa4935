"""The integrations of tasks: Step Functions itself, HTTP endpoints, AWS' services."""

__all__: list[str] = []
