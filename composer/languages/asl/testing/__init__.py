"""One state run by itself, as AWS' TestState does."""

__all__: list[str] = []
