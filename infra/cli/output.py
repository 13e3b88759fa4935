"""Output of the command line: tables and colours for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ...composer import timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...composer import Line

_TONES = {"plain": "default", "good": "green", "bad": "red", "wait": "yellow"}
_IDS = ("execution", "activation", "start")
_MARKS = {"plain": "·", "good": "✓", "bad": "✗", "wait": "…"}
_STATUS = {
    "succeeded": "green",
    "failed": "red",
    "cancelled": "red",
    "timed_out": "red",
    "continued": "green",
    "paused": "yellow",
    "stuck": "red",
}


SHORT_ID = 8  # last digits of an activation's id: its first digits are the time
GAP = 2  # spaces between two columns
PIPE_WIDTH = 160  # characters in a line when the output is not a terminal


def console(*, wrap: bool = False, pipe_width: int = PIPE_WIDTH) -> Console:
    """Standard output; on a terminal with colours and of the terminal's width."""
    width = None if sys.stdout.isatty() else pipe_width
    return Console(highlight=False, soft_wrap=not wrap, width=width)


def write_json(document: Any) -> None:
    """Writes one line of JSON and flushes it: the reader may be waiting for the line."""
    print(json.dumps(document, ensure_ascii=False), flush=True)


def document(document: Any) -> None:
    """Writes indented JSON, in colours on a terminal."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if sys.stdout.isatty():
        console().print(Syntax(text, "json", background_color="default", word_wrap=True))
    else:
        print(text)


def done(text: str) -> None:
    """Writes one line that reports a success."""
    console().print(Text("✓ ", style="green") + Text(text))


def warned(text: str) -> None:
    """Writes one line that the user should heed."""
    console().print(Text("! ", style="yellow") + Text(text))


def failed(text: str) -> None:
    """Writes one line that reports a failure."""
    console().print(Text("✗ ", style="red") + Text(text))


def age(doc: dict[str, Any]) -> str:
    """The age of the oldest of those that wait; "" if nobody waits."""
    return "" if doc["oldestMs"] is None else f"{doc['oldestMs'] / 1000:.0f} s"


def table(
    columns: Iterable[str],
    rows: Iterable[Iterable[Any]],
    empty: str,
    pipe_width: int = PIPE_WIDTH,
) -> None:
    """Writes a table, with a header if a column has a name; without rows it writes `empty`."""
    columns = list(columns)
    cells = [[c if isinstance(c, Text) else Text(str(c)) for c in row] for row in rows]
    shown = console(wrap=True, pipe_width=pipe_width)
    header = [Text(column, style="dim") for column in columns]
    widths = [max(cell.cell_len for cell in column) for column in zip(header, *cells, strict=True)]
    if not cells:
        console().print(Text(empty, style="dim"))
    elif any(columns) and sum(widths) + GAP * (len(widths) - 1) > shown.width:
        _stacked(shown, [header, *cells], widths)
    else:
        made = Table(box=None, pad_edge=False, header_style="dim", show_header=any(columns))
        for column in columns:
            made.add_column(column, overflow="fold", no_wrap=column in _IDS)
        for row in cells:
            made.add_row(*row)
        shown.print(made)


def _stacked(shown: Console, rows: list[list[Text]], widths: list[int]) -> None:
    """Writes a table that is wider than the terminal: each row on several lines, with whole cells."""
    lines: list[list[int]] = [[]]  # columns of each line
    for column, width in enumerate(widths):
        left = shown.width - GAP * (len(lines) > 1) - sum(widths[c] + GAP for c in lines[-1])
        if width > left and lines[-1]:
            lines.append([])
        lines[-1].append(column)
    for row in rows:
        for number, line in enumerate(lines):
            made = Text(" " * GAP * (number > 0))
            for column in line:
                made.append_text(row[column])
                made.append(" " * (widths[column] + GAP - row[column].cell_len))
            made.rstrip()
            shown.print(made)


def status(text: str) -> Text:
    """A status in its colour."""
    return Text(text, style=_STATUS.get(text, "default"))


def status_of(record: dict[str, Any]) -> str:
    """The status of an activation, from its record or from its summary."""
    response = record.get("response", record)
    return record.get("state") or ("failed" if response["statusCode"] else "succeeded")


def activation(record: dict[str, Any]) -> None:
    """Writes an activation record in one line, then its log lines."""
    took = duration(record["end"] - record["start"]) if "end" in record else ""
    about = f"{instant(record['start'])}  {record['activationId']}  {record['name']}  "
    ended = status(status_of(record))
    console().print(Text(about) + ended + Text(f"  {took}"))
    for line in record["logs"]:
        print(f"  {line}", flush=True)


def tree(activation: dict[str, Any]) -> None:
    """Writes the tree of an activation and the activations that it caused."""

    def label(doc: dict[str, Any]) -> Text:
        ended = status(status_of(doc))
        took = duration(doc["duration"])
        about = Text(f"{doc['name']}  ") + Text(doc["kind"], style="dim") + Text("  ")
        return about + ended + Text(f"  {took}  ") + Text(doc["activationId"], style="dim")

    def grow(branch: Tree, doc: dict[str, Any]) -> None:
        for part in doc.get("components", ()):
            grow(branch.add(label(part)), part)

    made = Tree(label(activation))
    grow(made, activation)
    console().print(made)


def instant(at_ms: int) -> str:
    """Text of an instant (milliseconds since the epoch) in the time zone of this machine."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(ms: int | None) -> str:
    """Short text of a duration in milliseconds; "" if it is None."""
    if ms is None:
        return ""
    return f"{ms} ms" if ms < 10_000 else f"{ms / 1000:.1f} s"  # noqa: PLR2004  four digits


def history(entries: Iterable[dict[str, Any]], pipe_width: int = PIPE_WIDTH) -> None:
    """Writes a history as a timeline: instant, duration, event and outcome in each line."""
    console(wrap=True, pipe_width=pipe_width).print(timeline_table(entries))


def timeline_table(entries: Iterable[dict[str, Any]]) -> Table:
    """The timeline of a history as a table."""
    return _timeline_table(timeline(entries))


def timeline_line(line: Line) -> None:
    """Writes one line of a timeline."""
    console(wrap=True).print(_timeline_table([line]))


def _timeline_table(lines: Iterable[Line], *, wrap: bool = True) -> Table:
    made = Table(box=None, pad_edge=False, show_header=False)
    for column in ("at", "took"):
        made.add_column(column, justify="right", style="dim", no_wrap=True, min_width=8)
    made.add_column("what", no_wrap=True, min_width=24)
    if wrap:
        made.add_column("note", overflow="fold")  # wraps, so that the others keep their widths
    else:
        made.add_column("note", overflow="ellipsis", no_wrap=True)
    for line in lines:
        style = _TONES[line.tone]
        label = Text(f"{'  ' * line.depth}{_MARKS[line.tone]} {line.label}", style=style)
        note = Text(line.note, style="red" if line.tone == "bad" else "default")
        made.add_row(f"+{line.at_ms} ms", duration(line.took_ms), label, note)
    return made


def log_line(name: str, activation: str, line: str) -> None:
    """Writes a line of a log: the local time, the action, the end of its activation's id, the text."""
    at, _, text = line.partition(" ")
    stream, _, message = text.partition(": ")
    begin = f"{_time(at)} {name} {activation[-SHORT_ID:]} | "
    if stream == "stdout":
        shown = Text(message)
    else:
        shown = Text(text, style="red" if stream == "stderr" else "default")
    console().print(Text(begin, style="dim") + shown)
    sys.stdout.flush()  # the reader may be waiting for the line


def _time(text: str) -> str:
    """The local time of day of an instant in ISO 8601; any other text stays as it is."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return text
    return instant.astimezone().strftime("%H:%M:%S.%f")[:-3]


@contextmanager
def live() -> Iterator[Callable[[list[dict[str, Any]]], None]]:
    """Shows the timeline of a history that grows. Yields the function that takes all entries so far.

    Meanwhile the terminal shows only the last lines, as many as fit; at the end it shows all.
    """
    lines: list[Line] = []
    made = Live(console=console(wrap=True), auto_refresh=False)
    with made as shown:

        def show(entries: list[dict[str, Any]]) -> None:
            lines[:] = timeline(entries)
            room = max(1, shown.console.height - 2)
            shown.update(_timeline_table(lines[-room:], wrap=False), refresh=True)

        yield show
        shown.vertical_overflow = "visible"
        shown.update(_timeline_table(lines), refresh=True)


@contextmanager
def going_on(text: str) -> Iterator[None]:
    """Says on Ctrl-C that what the user has watched goes on."""
    try:
        yield
    except KeyboardInterrupt:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"\n{text}")
        raise


@contextmanager
def waiting(text: str) -> Iterator[Callable[[str], None]]:
    """Shows a spinner with a text on the terminal. Yields a function that changes the text."""
    errors = Console(stderr=True)
    if not errors.is_terminal:
        yield lambda _: None
        return
    with errors.status(text) as shown:
        yield shown.update


def remark(text: str) -> None:
    """Writes a line on standard error that is no part of the output."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(text, style="dim"))


def problem(text: str) -> None:
    """Writes an error in one line on standard error."""
    line = " ".join(text.split())
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        Text("error: ", style="bold red") + Text(line)
    )


def warning(text: str) -> None:
    """Writes a warning in one line on standard error."""
    line = " ".join(text.split())
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        Text("warning: ", style="bold yellow") + Text(line)
    )
