"""Slices of modules: the statements that define given names, with all that those statements need.

A function is sent to a worker with its slice of its module, and not with the whole module: the statements
that compose stay behind, and so do imports that only other functions need. A statement of a module that
contains statements, such as `try` or `if`, is taken or left as a whole.
"""

from __future__ import annotations
import __future__

import ast
import builtins
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING

from ..errors import CaptureError
from .references import references

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

OURS = "xingqiao"  # the distribution that composes, which a worker does not have
_OPTIMIZED = 0x1  # the flag of code that has local variables of its own: a function's
_PLAIN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_MODULE = frozenset(("__name__", "__file__", "__doc__", "__annotations__", "__path__"))


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Statements of a module that share lines: nearly always one.

    Args:
        nodes: the statements, without the decorators that stay behind.
        lines: the numbers of the lines that are sent.
        binds: the names that the block binds; "*" for the names of another module.
        loads: the names that the block refers to, also in functions that it defines.
        composes: true if the block uses the composing library when the module is loaded.
    """

    nodes: tuple[ast.stmt, ...]
    lines: tuple[int, ...]
    binds: frozenset[str]
    loads: frozenset[str]
    composes: bool

    @property
    def changes(self) -> bool:
        """True if the block may change a value that another block has bound: `TABLE["a"] = 1`."""
        return not all(isinstance(node, _PLAIN) or _is_plain_binding(node) for node in self.nodes)

    def line_of(self, name: str) -> int:
        """The line that first refers to a name."""
        found = (
            part.lineno
            for node in self.nodes
            for part in ast.walk(node)
            if isinstance(part, ast.Name) and part.id == name
        )
        return min(found, default=self.nodes[0].lineno)


def _is_plain_binding(node: ast.stmt) -> bool:
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else None
    )
    return targets is not None and all(isinstance(target, ast.Name) for target in targets)


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """A module as blocks. `composing` are the names that exist only where the module composes."""

    source: tuple[str, ...]
    blocks: tuple[Block, ...]
    composing: frozenset[str]

    def binds(self, name: str) -> bool:
        """True if a statement of the module binds the name."""
        return any(name in block.binds for block in self.blocks)

    @property
    def names(self) -> frozenset[str]:
        """The names that the module binds without the composing library."""
        bound = [block.binds for block in self.blocks if not block.composes]
        return frozenset().union(*bound) - self.composing

    def needed(
        self, names: Iterable[str], title: str, known: Callable[[str], bool] = lambda _: False
    ) -> tuple[Block, ...]:
        """The blocks that define the names, with all blocks that these need, in order.

        Args:
            names: the names.
            title: the function that needs them, for errors.
            known: true for names that are defined in another way.

        Raises:
            CaptureError: a block needs the composing library, which a worker does not have.
        """
        taken: set[Block] = set()
        wanted: set[str] = set()
        left = {name for name in names if not known(name)}
        while left:
            wanted |= left
            more = {block for block in self._of(left, wanted) if block not in taken}
            taken |= more
            for block in more:
                self._check(block, title, known)
            loads = frozenset[str]().union(*(block.loads | block.binds for block in more))
            left = {name for name in loads - wanted if not known(name)}
        return tuple(block for block in self.blocks if block in taken)

    def _of(self, names: Collection[str], wanted: Collection[str]) -> Iterator[Block]:
        """The blocks that bind names or change their values, and imports of all names of a module."""
        starred = any(
            not self.binds(name) and name not in _MODULE and not hasattr(builtins, name)
            for name in names
        )
        for block in self.blocks:
            is_bound = not block.binds.isdisjoint(names) or (starred and "*" in block.binds)
            is_changed = block.changes and not block.loads.isdisjoint(wanted)
            if is_bound or (is_changed and not block.composes):
                yield block

    def _check(self, block: Block, title: str, known: Callable[[str], bool]) -> None:
        for name in sorted(block.loads | block.binds):
            if name in self.composing and not known(name):
                raise CaptureError(
                    f"{title} needs line {block.line_of(name)}, which uses {name!r}: the composing "
                    f"library {OURS!r} is not in a worker: move that line out of the function's code, "
                    "or pass the value as a parameter"
                )

    def text(self, blocks: Iterable[Block]) -> str:
        """The source of blocks, one after the other."""
        return "".join(self.source[number - 1] for block in blocks for number in block.lines)

    def blanked(self, blocks: Iterable[Block]) -> str:
        """The source of blocks, each line with the number that it has in the module."""
        kept = {number for block in blocks for number in block.lines}
        last = max(kept, default=0)
        return "".join(
            self.source[number - 1] if number in kept else "\n" for number in range(1, last + 1)
        )


@lru_cache(maxsize=64)
def outline(text: str) -> Outline:
    """The outline of a module's text.

    Raises:
        SyntaxError: the text cannot be parsed.
    """
    tree = ast.parse(text)
    postponed = any(_is_future(node) for node in tree.body)
    source = tuple(line if line.endswith("\n") else f"{line}\n" for line in text.splitlines(True))
    composing: set[str] = set()
    blocks = []
    for nodes in _groups(tree.body):
        block = _block(nodes, composing, postponed=postponed)
        if block.composes:
            composing |= block.binds
        blocks.append(block)
    return Outline(source, tuple(blocks), frozenset(composing))


def _groups(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Statements, together with those that share a line with them; not those that only a command runs."""
    group: list[ast.stmt] = []
    for node in body:
        if group and _first_line(node) > (group[-1].end_lineno or 0):
            yield group
            group = []
        if not _is_of_command(node):
            group.append(node)
    if group:
        yield group


def _is_of_command(node: ast.stmt) -> bool:
    """True for `if __name__ == "__main__":`, and for texts such as the module's own."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


def _is_future(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
    )


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _block(nodes: list[ast.stmt], composing: Collection[str], *, postponed: bool) -> Block:
    gone = {number for node in nodes for number in _strip(node, composing)}
    numbers = range(_first_line(nodes[0]), (nodes[-1].end_lineno or 0) + 1)
    flags = __future__.annotations.compiler_flag if postponed else 0
    code: CodeType = compile(
        ast.Module(nodes, []), "<module>", "exec", flags=flags, dont_inherit=True
    )
    binds = frozenset(name for node in nodes for name in _bound(node))
    annotated = {name for node in nodes for name in _annotations(node)}.difference(composing)
    loads = frozenset(name for _, name in references(code, frozenset())) | annotated
    immediate = frozenset(_immediate(code))
    composes = any(map(_imports_ours, nodes)) or not immediate.isdisjoint(composing)
    lines = tuple(number for number in numbers if number not in gone)
    return Block(tuple(nodes), lines, binds, loads, composes)


def _strip(node: ast.stmt, composing: Collection[str]) -> Iterator[int]:
    """Removes decorators of the composing library. Yields the numbers of their lines."""
    for part in ast.walk(node):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            ours = [each for each in part.decorator_list if _root(each) in composing]
            part.decorator_list = [each for each in part.decorator_list if each not in ours]
            for each in ours:
                yield from range(each.lineno, (each.end_lineno or each.lineno) + 1)


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds in its module."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
            return
        case ast.Lambda() | ast.AnnAssign(value=None):
            return
        case ast.Import():
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        case ast.ImportFrom():
            yield from (alias.asname or alias.name for alias in node.names)
        case (
            ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
        ):
            yield name
        case ast.comprehension(iter=iter, ifs=ifs):  # its targets are its own
            for part in (iter, *ifs):
                yield from _bound(part)
            return
        case ast.Name(ctx=ast.Store() | ast.Del()):
            yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def _annotations(node: ast.stmt) -> Iterator[str]:
    """The names in the annotations of classes, which decorators such as `dataclass` may look up."""
    for part in ast.walk(node):
        if isinstance(part, ast.ClassDef):
            for field in part.body:
                if isinstance(field, ast.AnnAssign):
                    yield from (
                        name.id for name in ast.walk(field.annotation) if isinstance(name, ast.Name)
                    )


def _immediate(code: CodeType) -> Iterator[str]:
    """The outer names that code refers to when it is loaded: not those of the functions in it."""
    inner = tuple(each for each in code.co_consts if isinstance(each, CodeType))
    constants = (None if isinstance(each, CodeType) else each for each in code.co_consts)
    outer = code.replace(co_consts=tuple(constants))
    yield from (name for _, name in references(outer, frozenset()))
    for each in inner:
        if not each.co_flags & _OPTIMIZED or (
            each.co_name.startswith("<") and each.co_name != "<lambda>"
        ):
            yield from _immediate(each)


def _imports_ours(node: ast.stmt) -> bool:
    return any(module.partition(".")[0] == OURS for module in _imported(node))


def _imported(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield node.module or ""
