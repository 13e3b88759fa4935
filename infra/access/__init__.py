"""Who may do what: namespaces with their keys, and secrets."""

__all__: list[str] = []
