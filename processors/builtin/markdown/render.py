"""Markdown written anew for a channel that shows little of it: every word stays, and where it has no mark for it, lines do.

Headings are bold lines, links are followed by their address, of a table each row is a line, and images are their text
and address. Code stays as it is to the letter, so it is not indented with what it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from markdown_it.tree import SyntaxTreeNode

from processors.builtin.markdown.inline import Run, lines_of, written
from processors.builtin.markdown.parse import parse
from processors.builtin.markdown.style import Mark, Style

_BREAK = re.compile(r"<br\s*/?>[ \t]*", re.IGNORECASE)
_SCHEME = re.compile(r"(?:mailto|tel):", re.IGNORECASE)
#: Where nodes have their address.
_ADDRESSES = {"link": "href", "image": "src"}
_BETWEEN_CELLS = " \u00b7 "
_NO_CELL = "\u2013"
_BULLET = "- "


class Line(NamedTuple):
    """One line of the result; `code` lines stand at the margin, whatever they are in."""

    text: str
    code: bool = False


def render(text: str, style: Style) -> str:
    """Return Markdown with the marks of `style`; what is nested beyond all measure is returned as it is."""
    tree = parse(text)
    if tree is None:
        return text
    used = frozenset(_address(node) for node in tree.walk() if node.type in _ADDRESSES)
    return "\n".join(line.text for line in _Renderer(style, used).blocks(tree.children, spaced=True))


class _Renderer:
    def __init__(self, style: Style, used: frozenset[str]) -> None:
        self._style = style
        self._used = used

    def blocks(self, nodes: Iterable[SyntaxTreeNode], *, spaced: bool) -> list[Line]:
        """Return the lines of blocks, with an empty one between two of them if `spaced`."""
        lines: list[Line] = []
        for node in nodes:
            block = list(self._block(node))
            if block and lines and spaced:
                lines.append(Line(""))
            lines += block
        return lines

    def _block(self, node: SyntaxTreeNode) -> Iterable[Line]:
        match node.type:
            case "heading":
                return self._text(node.children, frozenset({"bold"}))
            case "paragraph" | "inline":
                return self._text(node.children, frozenset())
            case "fence" | "code_block":
                return self._code(node.content)
            case "bullet_list" | "ordered_list":
                return self._list(node)
            case "blockquote":
                inside = self.blocks(node.children, spaced=True)
                return [line if line.code else Line(f"{self._style.quote}{line.text}".rstrip()) for line in inside]
            case "table":
                return self._table(node)
            case "definition":
                return self._definition(node)
            case "hr":
                return [Line("---")]
            case _:
                return [Line(line) for line in node.content.splitlines()]

    def _text(self, nodes: Iterable[SyntaxTreeNode], marks: frozenset[Mark]) -> list[Line]:
        return [Line(written(line, self._style)) for line in lines_of(self._runs(nodes, marks))]

    def _code(self, content: str) -> list[Line]:
        code = [Line(line, code=True) for line in content.removesuffix("\n").split("\n")]
        fence = self._style.fence
        # Code that has such a mark in it would end there.
        return [Line(fence, code=True), *code, Line(fence, code=True)] if fence and fence not in content else code

    def _list(self, node: SyntaxTreeNode) -> Iterator[Line]:
        number = int(node.attrs.get("start", 1))
        for item in node.children:
            marker = _BULLET if node.type == "bullet_list" else f"{number}. "
            number += 1
            inside = self.blocks(item.children, spaced=False) or [Line("")]
            if inside[0].code:
                inside.insert(0, Line(""))
            for place, line in enumerate(inside):
                indent = " " * len(marker) if place else marker
                yield line if line.code else Line(f"{indent}{line.text}".rstrip())

    def _table(self, node: SyntaxTreeNode) -> Iterator[Line]:
        head, *body = node.children
        heads = [self._cell(cell, frozenset({"bold"})) for row in head.children for cell in row.children]
        rows = [row for part in body for row in part.children]
        if not rows:
            yield Line(_BULLET + _BETWEEN_CELLS.join(written(cell, self._style) for cell in heads))
        for row in rows:
            cells = [self._cell(cell, frozenset()) for cell in row.children]
            # The parser gives every row as many cells as there are heads.
            yield Line(_BULLET + _BETWEEN_CELLS.join(map(self._pair, heads, cells)))

    def _pair(self, name: list[Run], cell: list[Run]) -> str:
        value = written(cell, self._style) or _NO_CELL
        text = written(name, self._style)
        if not text:
            return value
        if not "".join(run.text for run in name).endswith(":"):
            text = written([*name, Run(":", frozenset({"bold"}))], self._style)
        return f"{text} {value}"

    def _cell(self, node: SyntaxTreeNode, marks: frozenset[Mark]) -> list[Run]:
        runs = self._runs(node.children, marks)
        return [run._replace(text=run.text.replace("\n", " / ")) for run in runs]

    def _definition(self, node: SyntaxTreeNode) -> list[Line]:
        """Return the definition of a link that nobody uses: the others stand where they are used."""
        url, title, label = (str(node.meta.get(name, "")) for name in ("url", "title", "label"))
        return [] if url in self._used else [Line(f"{label}: {' '.join(part for part in (title, url) if part)}")]

    def _runs(self, nodes: Iterable[SyntaxTreeNode], marks: frozenset[Mark]) -> Iterator[Run]:
        """Yield what nodes within a line say; `marks` set all of it off."""
        for node in nodes:
            match node.type:
                case "inline":
                    yield from self._runs(node.children, marks)
                case "strong":
                    yield from self._runs(node.children, marks | {"bold"})
                case "em":
                    yield from self._runs(node.children, marks | {"italic"})
                case "s":
                    yield from self._runs(node.children, marks | {"strike"})
                case "softbreak" | "hardbreak":
                    yield Run("\n", marks)
                case "code_inline":
                    yield self._inline_code(node.content)
                case "link" | "image":
                    yield from self._link(node, marks)
                case _:
                    yield Run(_BREAK.sub("\n", node.content), marks)

    def _inline_code(self, content: str) -> Run:
        mark = self._style.code
        if "`" in content:
            mark = self._style.fence if "```" not in content and content[:1] != "`" != content[-1:] else ""
        return Run(f"{mark}{content}{mark}", verbatim=True)

    def _link(self, node: SyntaxTreeNode, marks: frozenset[Mark]) -> Iterator[Run]:
        """Yield what is shown of a link, and in brackets its title and address unless they say the same."""
        shown = list(self._runs(node.children, marks))
        address, title = _address(node), str(node.attrs.get("title", ""))
        text = "".join(run.text for run in shown).strip()
        if text in (address, _SCHEME.sub("", address, count=1)):
            # Within marks an address would end in one.
            yield Run(text, verbatim=True)
            address = ""
        else:
            yield from shown
        more = ": ".join(part for part in (title, address) if part)
        if more:
            yield Run(f" ({more})" if text else more, verbatim=True)


def _address(node: SyntaxTreeNode) -> str:
    return str(node.attrs.get(_ADDRESSES[node.type], ""))
