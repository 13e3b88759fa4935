-- Executions, fibers, histories, activations, large values and documents.

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
    PRIMARY KEY (execution, first)
) WITHOUT ROWID;

CREATE TABLE activations (
    id TEXT PRIMARY KEY,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    status INTEGER NOT NULL,
    cause TEXT,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX activations_by_time ON activations (namespace, started_ms);
CREATE INDEX activations_by_name ON activations (namespace, name, started_ms);
CREATE INDEX activations_by_cause ON activations (cause) WHERE cause IS NOT NULL;

CREATE TABLE large_values (
    execution TEXT NOT NULL,
    key TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (execution, key)
) WITHOUT ROWID;

CREATE TABLE documents (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
