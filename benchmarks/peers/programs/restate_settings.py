"""Hypercorn's settings for Restate's service: connections stay open, as Restate's documentation advises."""

h2_max_concurrent_streams = 2**31 - 1
keep_alive_max_requests = 2**31 - 1
keep_alive_timeout = 2**31 - 1
worker_class = "uvloop"
