"""`xingqiao schema`: JSON Schemas of the documents that users write."""

from __future__ import annotations

import click

from ...composer import composition_schema
from . import output

SCHEMAS = {"composition": composition_schema}


@click.command(epilog="\b\nExample:\n  xingqiao schema composition > composition.schema.json")
@click.argument("document", type=click.Choice(list(SCHEMAS)))
def schema(document: str) -> None:
    """Print the JSON Schema of DOCUMENT, a kind of document.

    Editors check a document with its schema while you type. `composition` is the JSON form of a composition,
    as `deploy` and `run` read it from a .json file.
    """
    output.document(SCHEMAS[document]())
