"""How fast Xingqiao is, beside the floor of the machine it runs on. `python -m benchmarks --help`."""
