"""The launcher of a worker: it drops from its own process everything that user code must not have.

It stands alone, as the worker does: standard library only. `start.main` runs first in the process of
each worker, so that the server's own process, which has threads, does nothing between fork and exec.
"""

__all__: list[str] = []
