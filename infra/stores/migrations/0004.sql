-- Their rows are in the journal now: see `moving.py`.

DROP TABLE activations;
DROP TABLE history;
