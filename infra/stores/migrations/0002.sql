-- Activations are found by kind, too; and all that has a name is one kind of document, so that a name
-- stands for one thing only.

ALTER TABLE activations ADD COLUMN kind TEXT NOT NULL DEFAULT '';

UPDATE documents SET kind = 'entity' WHERE kind = 'action';
