"""Tokens to a tree, macros included: by precedence climbing, so that nesting costs few Python frames.

Positions are those that upstream reports: an operator's own, a call's opening parenthesis, a selection's dot.
"""

from __future__ import annotations

from apiserver.cel import lexing, macros
from apiserver.cel.issues import CompileError, Issue
from apiserver.cel.lexing import Token
from apiserver.cel.syntax import (
    Call,
    Conditional,
    Ident,
    ListLiteral,
    Literal,
    Logic,
    MapLiteral,
    Node,
    ObjectLiteral,
    Select,
)
from apiserver.cel.values import INT_MAX

MAX_NESTING = 100
"""Nesting that is read. Upstream allows 250; Python's own stack is what bounds ours."""
MAX_CHARACTERS = 100_000  # upstream's

_BINARY = {"<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3, "in": 3, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5}
_LOGIC = {"||": 1, "&&": 2}
_OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


def parse(source: str) -> Node:
    """Raises CompileError."""
    if len(source) > MAX_CHARACTERS:
        message = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_CHARACTERS}"
        raise CompileError("", [Issue(0, message)])
    parser = _Parser(source)
    node = parser.expression()
    if parser.token.kind != "end":
        raise parser.unexpected("<EOF>")
    return node


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = lexing.tokens(source)
        self._index = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._index]

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self.error(self.token.position, f"expression recursion limit exceeded: {MAX_NESTING}")
        node = self._binary(1)
        if self._is("?"):
            mark = self._next()
            then = self._binary(1)
            self._expect(":")
            node = Conditional(node, then, self.expression(), position=mark.position)
        self._depth -= 1
        return node

    def _binary(self, least: int) -> Node:
        left = self._unary()
        while True:
            text, position = self.token.text, self.token.position
            if self.token.kind not in ("operator", "ident"):
                return left
            if _LOGIC.get(text, 0) >= least:
                left = self._logic(left, text)
            elif _BINARY.get(text, 0) >= least:
                self._next()
                right = self._binary(_BINARY[text] + 1)
                function = "@in" if text == "in" else f"_{text}_"
                left = Call(function, None, [left, right], position=position)
            else:
                return left

    def _logic(self, left: Node, operator: str) -> Node:
        terms, position = [left], self.token.position
        while self._is(operator):
            self._next()
            terms.append(self._binary(_LOGIC[operator] + 1))
        return Logic(f"_{operator}_", terms, position=position)

    def _unary(self) -> Node:
        if self.token.kind != "operator" or self.token.text not in "!-":
            return self._member(self._primary())
        operator, following = self.token, self._tokens[self._index + 1]
        if operator.text == "-" and type(following.value) in (int, float):
            self._index += 2
            return self._member(Literal(-following.value, position=operator.position))
        count = 0
        while self._is(operator.text):
            self._next()
            count += 1
        operand = self._member(self._primary())
        if count % 2 == 0:
            return operand
        return Call(f"{operator.text}_", None, [operand], position=operator.position)

    def _member(self, node: Node) -> Node:
        while self.token.kind == "operator":
            if self._is("."):
                node = self._selection(node)
            elif self._is("["):
                opening = self._next()
                function = "_[?_]" if self._accept("?") else "_[_]"
                node = Call(function, None, [node, self.expression()], position=opening.position)
                self._expect("]")
            elif self._is("{") and (name := _qualified(node)):
                node = self._object(name)
            else:
                return node
        return node

    def _selection(self, operand: Node) -> Node:
        dot = self._next()
        optional = self._accept("?")
        name = self.token
        if name.kind not in ("ident", "quoted"):
            raise self.unexpected(
                "IDENTIFIER", verb="no viable alternative at" if name.kind == "literal" else "mismatched"
            )
        self._next()
        if not self._is("(") or optional:
            return Select(operand, name.text.strip("`"), optional, position=dot.position)
        opening = self.token
        return self._called(name.text, operand, self._arguments(), opening.position)

    def _primary(self) -> Node:
        token = self.token
        if token.kind == "literal":
            if type(token.value) is int and token.value > INT_MAX:
                raise self.error(token.position, "Syntax error: invalid int literal")
            self._next()
            return Literal(token.value, position=token.position)
        if self._accept("("):
            node = self.expression()
            self._expect(")")
            return node
        if self._is("["):
            return self._list()
        if self._is("{"):
            return self._map()
        dotted = self._accept(".")
        token = self.token
        if token.kind != "ident" or token.text == "in":
            raise self.unexpected(_OPERAND)
        self._next()
        if self._is("("):
            opening = self.token
            return self._called(token.text, None, self._arguments(), opening.position)
        if token.text in lexing.RESERVED:
            raise self.error(token.position, f"Syntax error: reserved identifier: {token.text}")
        return Ident("." * dotted + token.text, position=token.position)

    def _called(self, name: str, target: Node | None, args: list[Node], position: int) -> Node:
        try:
            expanded = macros.expand(name, target, args, position)
        except macros.MacroError as wrong:
            raise self.error(wrong.position, str(wrong)) from wrong
        return expanded or Call(name, target, args, position=position)

    def _arguments(self) -> list[Node]:
        self._expect("(")
        args: list[Node] = []
        while not self._is(")"):
            args.append(self.expression())
            if not self._accept(","):
                break
        self._expect(")")
        return args

    def _list(self) -> Node:
        opening = self._next()
        items: list[Node] = []
        optional: set[int] = set()
        while not self._is("]"):
            if self._accept("?"):
                optional.add(len(items))
            items.append(self.expression())
            if not self._accept(","):
                break
        self._expect("]")
        return ListLiteral(items, frozenset(optional), position=opening.position)

    def _map(self) -> Node:
        opening = self._next()
        entries: list[tuple[Node, Node, bool]] = []
        while not self._is("}"):
            optional = self._accept("?")
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression(), optional))
            if not self._accept(","):
                break
        self._expect("}")
        return MapLiteral(entries, position=opening.position)

    def _object(self, name: str) -> Node:
        opening = self._next()
        fields: list[tuple[str, Node, bool]] = []
        while not self._is("}"):
            optional = self._accept("?")
            field = self._next().text.strip("`")
            self._expect(":")
            fields.append((field, self.expression(), optional))
            if not self._accept(","):
                break
        self._expect("}")
        return ObjectLiteral(name, fields, position=opening.position)

    def _is(self, text: str) -> bool:
        return self.token.kind == "operator" and self.token.text == text

    def _accept(self, text: str) -> bool:
        if not self._is(text):
            return False
        self._index += 1
        return True

    def _next(self) -> Token:
        token = self.token
        if token.kind == "end":
            raise self.unexpected(_OPERAND)
        self._index += 1
        return token

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self.unexpected(f"'{text}'")

    def unexpected(self, wanted: str, verb: str = "mismatched") -> CompileError:
        found = self.token
        return self.error(found.position, f"Syntax error: {verb} input '{found.text}' expecting {wanted}")

    def error(self, position: int, message: str) -> CompileError:
        return CompileError(self._source, [Issue(position, message)])


def _qualified(node: Node) -> str:
    """`a.b.C` as one name; "" for what is none."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.optional and (before := _qualified(node.operand)):
        return f"{before}.{node.name}"
    return ""
