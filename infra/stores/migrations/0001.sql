-- Executions, fibers, histories, activations, large values and documents.
--
-- What only grows (histories, activations, large values) is appended in order of time, with its key in an
-- index: a commit then writes few pages, though its rows belong to many executions.

CREATE TABLE executions (
    id TEXT PRIMARY KEY,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX executions_by_time ON executions (namespace, started_ms);

CREATE TABLE fibers (
    execution TEXT NOT NULL,
    fiber TEXT NOT NULL,
    due_ms INTEGER,
    active INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (execution, fiber)
) WITHOUT ROWID;

CREATE TABLE history (
    execution TEXT NOT NULL,
    first INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (execution, first)
);

CREATE TABLE activations (
    id TEXT NOT NULL UNIQUE,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    status INTEGER NOT NULL,
    cause TEXT,
    body BLOB NOT NULL
);
CREATE INDEX activations_by_time ON activations (namespace, started_ms, name);

CREATE TABLE large_values (
    execution TEXT NOT NULL,
    key TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (execution, key)
);

CREATE TABLE documents (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
