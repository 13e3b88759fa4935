"""Programs of the systems that are compared. Those of DBOS and Restate run in an environment of their own."""
