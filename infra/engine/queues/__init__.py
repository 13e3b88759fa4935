"""Task queues: steps that wait for workers outside."""
