"""Events reach executions: they begin, their steps complete, what follows is done in the same tick."""

__all__: list[str] = []
