"""Lines of the library that are broken by chance: each a change of one place that alters what the code does."""

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import MappingProxyType

_COMPARED: Mapping[type[ast.cmpop], type[ast.cmpop]] = MappingProxyType(
    {
        ast.Lt: ast.LtE,
        ast.LtE: ast.Lt,
        ast.Gt: ast.GtE,
        ast.GtE: ast.Gt,
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
        ast.Is: ast.IsNot,
        ast.IsNot: ast.Is,
        ast.In: ast.NotIn,
        ast.NotIn: ast.In,
    }
)
_COMPUTED: Mapping[type[ast.operator], type[ast.operator]] = MappingProxyType(
    {
        ast.Add: ast.Sub,
        ast.Sub: ast.Add,
        ast.Mult: ast.Div,
        ast.Div: ast.Mult,
        ast.FloorDiv: ast.Mult,
        ast.BitAnd: ast.BitOr,
        ast.BitOr: ast.BitAnd,
    }
)


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A file of the library, its broken line, what stood at the place and what stands there instead."""

    path: str
    line: int
    before: str
    after: str
    source: str


def mutants_of(path: Path, root: Path) -> Iterator[Mutant]:
    """All mutants of a file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    alone = {id(inside) for node in ast.walk(tree) for inside in _left_alone(node)}
    for node in ast.walk(tree):
        if id(node) in alone or not isinstance(node, ast.expr) or node.lineno != node.end_lineno:
            continue
        for broken in _broken(node):
            after = ast.unparse(ast.copy_location(broken, node))
            yield Mutant(
                path=str(path.relative_to(root)),
                line=node.lineno,
                before=ast.get_source_segment(source, node) or "",
                after=after,
                source=_replaced(source, node, f"({after})"),
            )


def chosen(root: Path, folders: tuple[str, ...], *, count: int, seed: int) -> list[Mutant]:
    """Mutants chosen by chance: lines that can be broken are equally likely, at most one mutant a line."""
    rng, lines = Random(seed), dict[tuple[str, int], list[Mutant]]()
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            for mutant in mutants_of(path, root):
                lines.setdefault((mutant.path, mutant.line), []).append(mutant)
    return [rng.choice(lines[line]) for line in rng.sample(sorted(lines), count)]


def _left_alone(node: ast.AST) -> Iterator[ast.AST]:
    """Types that a node declares, which change nothing, and what is inside a text, whose place Python does not tell."""
    for name in ("annotation", "returns"):
        if (declared := getattr(node, name, None)) is not None:
            yield from ast.walk(declared)
    if isinstance(node, ast.JoinedStr):
        yield from ast.walk(node)


def _is_type(node: ast.expr) -> bool:
    """Whether it reads like a type: None, int, Settings."""
    is_name = isinstance(node, ast.Name) and (node.id[:1].isupper() or isinstance(getattr(builtins, node.id, 0), type))
    return is_name or (isinstance(node, ast.Constant) and node.value is None)


def _broken(node: ast.expr) -> Iterator[ast.expr]:
    """What may stand in the place of a comparison, a computation, a condition or a value."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=others) if type(operator) in _COMPARED:
            yield ast.Compare(left=left, ops=[_COMPARED[type(operator)]()], comparators=others)
        case ast.BinOp(left=left, op=operator, right=right):
            if type(operator) in _COMPUTED and not (_is_type(left) or _is_type(right)):
                yield ast.BinOp(left=left, op=_COMPUTED[type(operator)](), right=right)
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(op=ast.Or() if isinstance(operator, ast.And) else ast.And(), values=values)
        case ast.IfExp(test=test, body=body, orelse=other):
            yield ast.IfExp(test=test, body=other, orelse=body)
        case _:
            yield from _broken_value(node)


def _broken_value(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value=value + 1)


def _replaced(source: str, node: ast.expr, text: str) -> str:
    lines = source.splitlines(keepends=True)
    line = lines[node.lineno - 1].encode()
    lines[node.lineno - 1] = (line[: node.col_offset] + text.encode() + line[node.end_col_offset :]).decode()
    return "".join(lines)
