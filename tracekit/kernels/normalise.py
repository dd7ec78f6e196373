"""One spelling for the many that a kernel name has.

Kineto, nsys (CUPTI), Itanium mangling, ROCm suffixes and text reports write the same kernel in
different ways. Grammars read only the normalised form: no return type, no parameter lists, no
``const``, no spaces around punctuation, one word for each builtin type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tracekit.kernels.demangle import demangle

__all__ = ["LIMIT", "Name", "normalise"]

LIMIT = 1 << 14
"""Characters of a name that are read. Real names stay below 10,000; hostile ones do not."""

_SUFFIX = re.compile(r"(?:\.kd|\s?\[clone [^\]]{0,80}\]?|\.(?:cold|isra|constprop|part)[.\d]*)$")
_CUT = re.compile(r"(?:\.\.\.|…)$")
_ANONYMOUS = re.compile(
    r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\}|_GLOBAL__N_\w{0,60})(?:::)?"
)
_CAST = re.compile(r"\(([A-Za-z_][\w:]{0,160}(?: [a-z]{1,8}){0,2})\)(?=-?\d)")
_BOOL = re.compile(r"\(bool\)([01])(?!\d)")
_INSTANCE = re.compile(r" ?\(instance (\d{1,6})\)\]")
_CLANG_LAMBDA = re.compile(r"'lambda\d{0,4}'(?=\()")
_LITERAL = re.compile(r"(?<=[<,( ])(-?\d{1,20})[uUlL]{1,3}(?=[>,) ])")
_QUALIFIER = re.compile(r"\b(?:const|volatile|typename|__restrict__|struct|class)\b ?")
_WORDS = re.compile(
    r"\b(?:unsigned|signed|long|short|char|int|double)(?: (?:unsigned|signed|long|short|char|int|double))+\b"
    r"|\bunsigned\b"
)
_PUNCTUATION = re.compile(r" ?([<,(){}&*\[\]#]) ?| (?=>)|(?<=>) (?=[>,)(:{&*])")
_BRACKET = re.compile(r"[()<>]")


@dataclass(frozen=True)
class Name:
    """A kernel name taken apart.

    ``text`` is the whole normalised name, ``path`` the same without template arguments, ``args``
    the outermost template arguments, ``params`` the text of the parameter list where one is
    written, ``truncated`` whether the name was cut.
    """

    raw: str
    text: str
    params: str
    truncated: bool

    @cached_property
    def path(self) -> str:
        """Qualified function name without template arguments.

        >>> normalise("void a::b<int, c<d> >(int)").path
        'a::b'
        """
        out, depth, start = [], 0, 0
        for m in _BRACKET.finditer(self.text):
            c = m.group()
            if c == "<":
                if depth == 0:
                    out.append(self.text[start : m.start()])
                depth += 1
            elif c == ">" and depth:
                depth -= 1
                start = m.end()
        if depth == 0:
            out.append(self.text[start:])
        return "".join(out)

    @cached_property
    def func(self) -> str:
        """Last component of ``path``."""
        return self.path.rsplit("::", 1)[-1]

    @cached_property
    def template(self) -> str:
        """Text inside the outermost template brackets; empty where there are none."""
        i = self.text.find("<")
        return self.text[i + 1 :].removesuffix(">") if i >= 0 else ""

    @cached_property
    def args(self) -> list[str]:
        """Outermost template arguments, in order.

        >>> normalise("f<(int)4, g<a, b>, (bool)1>(T1)").args
        ['4', 'g<a,b>', 'true']
        """
        out, depth, start = [], 0, 0
        text = self.template
        for m in re.finditer(r"[(){}<>,]", text):
            c = m.group()
            if c in "(<{":
                depth += 1
            elif c in ")>}":
                depth -= 1
                if depth < 0:
                    out.append(text[start : m.start()])
                    return out
            elif depth == 0:
                out.append(text[start : m.start()])
                start = m.end()
        if text:
            out.append(text[start:])
        return out

    @cached_property
    def words(self) -> str:
        """``path`` in lower snake case with single underscores, for matching words.

        >>> normalise("BatchDecodeWithPagedKVCacheKernel").words
        '_batch_decode_with_paged_kv_cache_kernel_'
        """
        return snake(self.path)


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")


def snake(text: str) -> str:
    """Lower snake case with an underscore at both ends."""
    return "_" + re.sub("_+", "_", _CAMEL.sub("_", text)).strip("_").lower() + "_"


def _builtin(m: re.Match[str]) -> str:
    words = m.group().split()
    sign = "u" if "unsigned" in words else ""
    if "char" in words:
        return "uchar" if sign else "schar" if "signed" in words else "char"
    if "short" in words:
        return sign + "short"
    if "long" in words:
        return "double" if "double" in words else sign + "long"
    return sign + "int"


def _without_parameters(text: str) -> tuple[str, str, bool]:
    """Drop each parameter list except those of lambdas; also the outermost one, and if cut."""
    out: list[str] = []
    kept: list[bool] = []
    start = 0
    angle = 0
    skip = 0
    params = ""
    for m in _BRACKET.finditer(text):
        c, i = m.group(), m.start()
        if skip:
            if c == "(":
                skip += 1
            elif c == ")":
                skip -= 1
                if not skip:
                    if not angle and not kept and not params:
                        params = text[start:i]
                    start = m.end()
        elif c == "(":
            if text.endswith("lambda", 0, i):
                kept.append(True)
            else:
                out.append(text[start:i])
                start, skip = m.end(), 1
        elif c == ")":
            if kept:
                kept.pop()
        elif c == "<":
            if not text.endswith("operator", 0, i):
                angle += 1
        elif not text.endswith(("-", "operator"), 0, i):
            angle -= 1
    if skip:
        params = params or text[start:]
    else:
        out.append(text[start:])
    return "".join(out), params, bool(skip or angle > 0 or kept)


def _without_return_type(text: str) -> str:
    """What follows the last space outside of template brackets."""
    if " " not in text:
        return text
    depth, cut = 0, 0
    for m in re.finditer(r"[<> ]", text):
        c = m.group()
        if c == "<":
            depth += 1
        elif c == ">":
            depth = max(0, depth - 1)
        elif depth == 0:
            cut = m.end()
    return text[cut:]


def normalise(raw: str) -> Name:
    """Take ``raw`` apart. Never raises; work is linear in at most ``LIMIT`` characters.

    >>> a = normalise("void f<4, g(int)::{lambda(float)#1}, std::array<char*, 2ul> >(int)")
    >>> b = normalise("void f<(int)4, g(int)::[lambda(float) (instance 1)], "
    ...               "std::array<char *, (unsigned long)2>>(int)")
    >>> a.text == b.text
    True
    >>> a.text
    'f<4,g::{lambda(float)#1},std::array<char*,2>>'
    """
    text = " ".join(raw[:LIMIT].split())
    for _ in range(3):
        text = _SUFFIX.sub("", text)
    cut = bool(_CUT.search(text)) or len(raw) > LIMIT
    text = _CUT.sub("", text)
    if text.startswith(("_Z", "__Z")):
        text, part = demangle(text)
        cut = cut or part
    text = _ANONYMOUS.sub("", text)
    text = text.replace("[lambda", "{lambda").replace("operator ()", "operator()")
    text = _INSTANCE.sub(r"#\1}", text)
    text = _CLANG_LAMBDA.sub("{lambda", text)
    text = _BOOL.sub(lambda m: "true" if m.group(1) == "1" else "false", text)
    text = _CAST.sub("", text)
    text = _LITERAL.sub(r"\1", text)
    text = _QUALIFIER.sub("", text)
    text = _WORDS.sub(_builtin, text)
    text = _PUNCTUATION.sub(lambda m: m.group(1) or "", text)
    text, params, part = _without_parameters(text)
    text = _without_return_type(text.strip())
    return Name(raw, text.strip(), params, cut or part)
