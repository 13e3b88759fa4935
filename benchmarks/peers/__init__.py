"""Xingqiao beside DBOS and Restate: the same work, interleaved, in rounds. `make bench-peers` runs it."""
