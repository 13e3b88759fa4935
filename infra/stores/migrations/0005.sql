-- The values under which executions are found, and the user's ids. An execution without them has no rows here.
-- `name` holds the type of the attribute too. `value` is of any type, and is compared within one name only.

CREATE TABLE attributes (
    execution TEXT NOT NULL,
    name TEXT NOT NULL,
    value,
    namespace TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    PRIMARY KEY (execution, name, value)
) WITHOUT ROWID;
CREATE INDEX attributes_by_value ON attributes (namespace, name, value, started_ms);
