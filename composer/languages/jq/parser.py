"""Reads a jq program into its tree: a parser by recursive descent, with bounded nesting."""

from __future__ import annotations

from functools import reduce
from typing import Any, Final, NoReturn, cast

from . import tree
from .errors import ProgramError
from .lexer import Lexer, Token
from .numbers import literal
from .values import kind, quoted

MAX_TEXT = 16_384  # characters of a program
UPDATES: Final = ("=", "|=", "+=", "-=", "*=", "/=", "%=", "//=")
COMPARISONS: Final = ("==", "!=", "<", "<=", ">", ">=")

MAX_NESTING = 90  # parts inside each other: parentheses are two of them
MAX_HEIGHT = 120  # levels of the tree: an operator or suffix is one

LEVELS: Final = {
    "//": 1, **dict.fromkeys(UPDATES, 2), "or": 3, "and": 4, **dict.fromkeys(COMPARISONS, 5),
    "+": 6, "-": 6, "*": 7, "/": 7, "%": 7,
}  # fmt: skip
ALTERNATIVE, UPDATE, COMPARISON = 1, 2, 5

REFUSED: Final = {
    "import": "Modules are not available: write the definitions into the program",
    "include": "Modules are not available: write the definitions into the program",
}
CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
IDENTITY: Final = tree.Identity()


class Parser:
    """Reads the tokens of a text. Raises ProgramError where the text is not a program."""

    def __init__(self, source: str) -> None:
        self.source = source
        if len(source) > MAX_TEXT:
            raise ProgramError(f"The program has more than {MAX_TEXT} characters", source, MAX_TEXT)
        self._tokens = Lexer(source).tokens
        self._next = 0
        self._nesting = 0

    def program(self) -> tree.Tree:
        """The tree of the whole text. An empty program is `.`, and definitions alone are too."""
        found: tree.Tree = IDENTITY
        if self._token.kind != "end":
            found = self._pipe()
        if self._token.kind != "end":
            self._refuse("an operator or the end of the program")
        if tree.higher(found, MAX_HEIGHT):
            raise ProgramError(
                f"The program's tree has more than {MAX_HEIGHT} levels",
                self.source,
                len(self.source),
                "fewer operators in a row: name parts of it with def",
            )
        return found

    def definitions(self) -> list[tree.Function]:
        """The definitions of a text that has nothing else."""
        found = []
        while self._token.kind != "end":
            found.append(self._definition())
        return found

    # --- tokens ----------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _refuse(self, expected: str) -> NoReturn:
        token = self._token
        if token.text in REFUSED:
            raise ProgramError(REFUSED[token.text], self.source, token.at)
        found = f"'{token.text}'" if token.text else "end of the program"
        raise ProgramError(f"Unexpected {found}", self.source, token.at, expected)

    def _is(self, *signs: str) -> bool:
        return self._token.kind in ("sign", "keyword") and self._token.text in signs

    def _take(self, *signs: str) -> str | None:
        if not self._is(*signs):
            return None
        self._next += 1
        return self._tokens[self._next - 1].text

    def _kind(self, kind: str) -> str | None:
        if self._token.kind != kind:
            return None
        self._next += 1
        return self._tokens[self._next - 1].text

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            self._refuse(f"'{sign}'")

    def _enter(self) -> None:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise ProgramError(
                f"The program has more than {MAX_NESTING} parts inside each other",
                self.source,
                self._token.at,
                "fewer levels: name a part with def",
            )

    # --- operators, from the loosest to the tightest ---------------------------------------------

    def _pipe(self) -> tree.Tree:
        """`a | b | c`, with the definitions and bindings that hold up to its end."""
        self._enter()
        stages: list[Any] = []
        while True:
            if self._is("def"):
                function = self._definition()
                stages.append(lambda body, function=function: tree.Define(function, body))
                if self._token.kind == "end":  # definitions alone: the program is `.`
                    found: tree.Tree = IDENTITY
                    break
            elif self._take("label"):
                name = self._variable()
                self._expect("|")
                stages.append(lambda body, name=name: tree.Label(name, body))
            else:
                found = self._expression()
                if self._is("as"):
                    stages.append(self._binding(found))
                    continue
                found = self._commas(found)
                if not self._take("|"):
                    break
                stages.append(lambda body, left=found: tree.Pipe(left, body))
        self._nesting -= 1
        return reduce(lambda body, stage: cast("tree.Tree", stage(body)), reversed(stages), found)

    def _commas(self, first: tree.Tree) -> tree.Tree:
        items = [first]
        while self._take(","):
            if self._is("def", "label"):
                items.append(self._pipe())
                break
            item = self._expression()
            if self._is("as"):
                bind = self._binding(item)
                items.append(bind(self._pipe()))
                break
            items.append(item)
        return items[0] if len(items) == 1 else tree.Comma(tuple(items))

    def _binding(self, source: tree.Tree) -> Any:
        patterns = self._patterns()
        self._expect("|")
        return lambda body: tree.Bind(source, patterns, body)

    def _expression(self, least: int = 1) -> tree.Tree:
        """Operators that bind at least as tightly as the level `least`."""
        self._enter()
        left = self._term()
        while True:
            sign = self._token.text if self._token.kind in ("sign", "keyword") else ""
            if sign in ("?//", "?//="):  # here it is `?` and then an operator
                left, sign = tree.Try(left, None), sign[1:]
            level = LEVELS.get(sign, 0)
            if level < least:
                break
            self._next += 1
            right = self._expression(level if level == ALTERNATIVE else level + 1)
            left = _operation(sign, left, right)
            if level in (UPDATE, COMPARISON) and LEVELS.get(self._token.text) == level:
                self._refuse("parentheses, because these operators do not chain")
        self._nesting -= 1
        return left

    # --- terms -----------------------------------------------------------------------------------

    def _term(self) -> tree.Tree:
        """A term with its suffixes."""
        minuses = 0
        while self._take("-"):
            minuses += 1
        found = self._suffixes(self._atom())
        for _ in range(minuses):
            found = tree.Negate(found)
        return found

    def _suffixes(self, found: tree.Tree) -> tree.Tree:
        last = self._tokens[self._next - 1]
        indexed = last.kind == "field" or (isinstance(found, tree.Index) and last.kind == "quote")
        while True:
            field = self._kind("field")
            if field:
                found, indexed = tree.Index(found, tree.Literal(field[1:])), True
            elif self._take("?"):
                found, indexed = _optional(found) if indexed else tree.Try(found, None), False
            elif self._is("["):
                found, indexed = self._bracket(found), True
            elif self._is(".") and self._tokens[self._next + 1].text in ("[", '"'):
                self._next += 1
                if self._token.kind == "quote":
                    found, indexed = tree.Index(found, self._string("@text")), True
            else:
                return found

    def _bracket(self, target: tree.Tree) -> tree.Tree:
        self._expect("[")
        if self._take("]"):
            return tree.Iterate(target)
        if self._take(":"):
            high = self._pipe()
            self._expect("]")
            return tree.Slice(target, None, high)
        key = self._pipe()
        if self._take(":"):
            most = None if self._is("]") else self._pipe()
            self._expect("]")
            return tree.Slice(target, key, most)
        self._expect("]")
        return tree.Index(target, key)

    def _atom(self) -> tree.Tree:
        token = self._token
        readers = {
            "number": self._number, "variable": self._named, "field": self._field,
            "quote": lambda: self._string("@text"), "format": self._format, "word": self._call,
        }  # fmt: skip
        if token.kind in readers:
            return readers[token.kind]()
        signs = {
            ".": self._dot, "..": self._descent, "(": self._group, "[": self._array, "{": self._object,
            "$": self._location, "if": self._if, "try": self._try, "reduce": self._fold,
            "foreach": self._fold, "-": self._term,
        }  # fmt: skip
        if token.kind not in ("sign", "keyword") or token.text not in signs:
            self._refuse("a value or a path")
        return signs[token.text]()

    def _number(self) -> tree.Tree:
        return tree.Literal(literal(self._kind("number") or ""))

    def _field(self) -> tree.Tree:
        return tree.Index(IDENTITY, tree.Literal((self._kind("field") or "")[1:]))

    def _named(self) -> tree.Tree:
        at = self._token.at
        name = self._variable()
        if name == "__loc__":
            line = self.source.count("\n", 0, at) + 1
            return tree.Literal({"file": "<top-level>", "line": line})
        return tree.Variable(name, at)

    def _variable(self) -> str:
        name = self._kind("variable")
        if name is None:
            self._refuse("a variable such as $name")
        return name[1:]

    def _location(self) -> NoReturn:
        self._refuse("a variable such as $name")

    def _dot(self) -> tree.Tree:
        self._expect(".")
        if self._token.kind == "quote":
            return tree.Index(IDENTITY, self._string("@text"))
        return IDENTITY

    def _descent(self) -> tree.Tree:
        at = self._token.at
        self._expect("..")
        return tree.Call("recurse", (), at)

    def _group(self) -> tree.Tree:
        self._expect("(")
        found = self._pipe()
        self._expect(")")
        return found

    def _array(self) -> tree.Tree:
        self._expect("[")
        body = None if self._is("]") else self._pipe()
        self._expect("]")
        return tree.Array(body)

    def _format(self) -> tree.Tree:
        name = self._kind("format") or ""
        return self._string(name) if self._token.kind == "quote" else tree.Format(name)

    def _string(self, form: str) -> tree.Tree:
        self._kind("quote")
        parts: list[str | tree.Tree] = []
        while not self._kind("quote"):
            text = self._kind("text")
            if text is not None:
                parts.append(text)
                continue
            self._expect("\\(")
            parts.append(self._pipe())
            self._expect(")")
        if not parts or (len(parts) == 1 and isinstance(parts[0], str)):
            return tree.Literal(parts[0] if parts else "")
        return tree.Text(tuple(parts), form)

    def _call(self) -> tree.Tree:
        at = self._token.at
        name = self._kind("word") or ""
        if name in CONSTANTS:
            return tree.Literal(CONSTANTS[name])
        if name == "break":
            if self._token.kind != "variable":
                self._refuse("the label to break to, such as $out")
            return tree.Break(self._variable(), at)
        arguments = []
        if self._take("("):
            arguments.append(self._pipe())
            while self._take(";"):
                arguments.append(self._pipe())
            self._expect(")")
        return tree.Call(name, tuple(arguments), at)

    def _if(self) -> tree.Tree:
        self._expect("if")
        arms = [(self._pipe(), self._then())]
        while self._take("elif"):
            arms.append((self._pipe(), self._then()))
        found: tree.Tree = self._pipe() if self._take("else") else IDENTITY
        self._expect("end")
        for condition, body in reversed(arms):
            found = tree.If(condition, body, found)
        return found

    def _then(self) -> tree.Tree:
        self._expect("then")
        return self._pipe()

    def _try(self) -> tree.Tree:
        self._expect("try")
        self._enter()
        body = self._term()
        handler = self._term() if self._take("catch") else None
        self._nesting -= 1
        return tree.Try(body, handler)

    def _fold(self) -> tree.Tree:
        word = self._take("reduce", "foreach")
        source = self._expression()
        patterns = self._patterns()
        self._expect("(")
        start = self._pipe()
        self._expect(";")
        update = self._pipe()
        extract: tree.Tree | None = None
        if word == "foreach":
            extract = self._pipe() if self._take(";") else IDENTITY
        self._expect(")")
        return tree.Fold(source, patterns, start, update, extract)

    # --- objects, patterns, definitions ----------------------------------------------------------

    def _object(self) -> tree.Tree:
        self._expect("{")
        entries = []
        while not self._take("}"):
            entries.append(self._entry())
            if not self._is("}"):
                self._expect(",")
        return tree.Object(tuple(entries))

    def _entry(self) -> tuple[tree.Tree, tree.Tree]:
        token = self._token
        if token.kind == "variable":
            value = self._named()
            name: tree.Tree = tree.Literal(token.text[1:])
            return (value, self._member()) if self._take(":") else (name, value)
        key = self._key()
        if self._take(":"):
            return key, self._member()
        if token.text == "(":
            self._expect(":")
        return key, tree.Index(IDENTITY, key)

    def _member(self) -> tree.Tree:
        """A value in an object: it may have pipes, and no comma."""
        stages = [self._expression()]
        while self._take("|"):
            stages.append(self._expression())
        return reduce(lambda right, left: tree.Pipe(left, right), reversed(stages))

    def _key(self) -> tree.Tree:
        token = self._token
        if token.kind in ("word", "keyword"):
            self._next += 1
            return tree.Literal(token.text)
        if token.kind == "quote":
            return self._string("@text")
        if token.kind == "format" and self._tokens[self._next + 1].kind == "quote":
            return self._format()
        if not self._is("("):
            self._refuse("a key: a name, a string, a variable or an expression in parentheses")
        found = self._group()
        if isinstance(found, tree.Literal) and not isinstance(found.value, str):
            why = f"Cannot use {kind(found.value)} ({quoted(found.value)}) as object key"
            raise ProgramError(why, self.source, token.at, "a text")
        return found

    def _patterns(self) -> tuple[tree.Pattern, ...]:
        self._expect("as")
        found = [self._pattern()]
        while self._take("?//"):
            found.append(self._pattern())
        return tuple(found)

    def _pattern(self) -> tree.Pattern:
        if self._token.kind == "variable":
            return tree.VariablePattern(self._variable())
        self._enter()
        if self._take("["):
            items = [self._pattern()]
            while self._take(","):
                items.append(self._pattern())
            self._expect("]")
            found: tree.Pattern = tree.ArrayPattern(tuple(items))
        elif self._take("{"):
            entries = [self._pattern_entry()]
            while self._take(","):
                entries.append(self._pattern_entry())
            self._expect("}")
            found = tree.ObjectPattern(tuple(entries))
        else:
            self._refuse("a pattern: a variable, '[' or '{'")
        self._nesting -= 1
        return found

    def _pattern_entry(self) -> tuple[str | None, tree.Tree, tree.Pattern | None]:
        if self._token.kind == "variable":
            name = self._variable()
            key: tree.Tree = tree.Literal(name)
            return name, key, self._pattern() if self._take(":") else None
        key = self._key()
        self._expect(":")
        return None, key, self._pattern()

    def _definition(self) -> tree.Function:
        self._expect("def")
        name = self._token.text
        if self._token.kind not in ("word", "keyword"):
            self._refuse("the name of the function")
        self._next += 1
        parameters = []
        if self._take("("):
            parameters.append(self._parameter())
            while self._take(";"):
                parameters.append(self._parameter())
            self._expect(")")
        self._expect(":")
        body = self._pipe()
        self._expect(";")
        return tree.Function(name, tuple(parameters), body)

    def _parameter(self) -> str:
        if self._token.kind not in ("word", "keyword", "variable"):
            self._refuse("a parameter: a name or a variable")
        self._next += 1
        return self._tokens[self._next - 1].text


def _optional(found: tree.Tree) -> tree.Tree:
    """`target[key]?`: of the errors, only those of the last index are left out."""
    low, high = tree.Variable("*low", 0), tree.Variable("*high", 0)
    if isinstance(found, tree.Iterate):
        return _tried(found.target, tree.Iterate(IDENTITY))
    if isinstance(found, tree.Slice):
        nothing = tree.Literal(None)
        inner: tree.Tree = _tried(found.target, tree.Slice(IDENTITY, low, high))
        inner = tree.Bind(found.high or nothing, (tree.VariablePattern(high.name),), inner)
        return tree.Bind(found.low or nothing, (tree.VariablePattern(low.name),), inner)
    index = cast("tree.Index", found)
    if isinstance(index.key, tree.Literal):
        return _tried(index.target, tree.Index(IDENTITY, index.key))
    inner = _tried(index.target, tree.Index(IDENTITY, low))
    return tree.Bind(index.key, (tree.VariablePattern(low.name),), inner)


def _tried(target: tree.Tree, last: tree.Tree) -> tree.Tree:
    tried = tree.Try(last, None)
    return tried if target is IDENTITY else tree.Pipe(target, tried)


def _operation(sign: str, left: tree.Tree, right: tree.Tree) -> tree.Tree:
    if sign == "//":
        return tree.Alternative(left, right)
    if sign in UPDATES:
        return tree.Update(sign, left, right)
    if sign in ("and", "or"):
        return tree.Logic(sign, left, right)
    return tree.Binary(sign, left, right)
