-- Their rows are in the journal now: see `moving.py`.

DROP TABLE activations;
DROP TABLE history;

-- Lists of executions by a status that few of them have. Most end well, and cost it nothing in the end.

CREATE INDEX executions_by_status ON executions (status, namespace, started_ms)
WHERE status <> 'succeeded';
