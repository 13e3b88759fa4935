"""Measures the speed of Xingqiao, beside the floor of the machine that runs it. `python -m benchmarks --help`."""
