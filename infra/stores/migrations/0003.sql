-- One row for each commit, with the activations and the histories that the commit wrote, and the executions
-- whose histories it deleted. Each is a JSON list whose entries end with the place of a body in `bodies`.

CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    last_ms INTEGER NOT NULL,
    activations TEXT,
    history TEXT,
    forgotten TEXT,
    bodies BLOB
);
