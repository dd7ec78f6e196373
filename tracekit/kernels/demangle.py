"""A small demangler for the Itanium C++ ABI, enough for kernel names.

It reads left to right and writes what it understands, so that a mangled name cut in the middle
still gives its first part. Depth and output are bounded; nothing is raised.
Grammar: https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling
"""

from __future__ import annotations

__all__ = ["demangle"]

_DEPTH = 96
_OUTPUT = 1 << 14

_BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char",
    "h": "unsigned char", "s": "short", "t": "unsigned short", "i": "int", "j": "unsigned int",
    "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long",
    "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double",
    "g": "__float128", "z": "...",
}  # fmt: skip
_BUILTIN_D = {
    "DF16_": "_Float16", "DF16b": "__bf16", "Dh": "half", "Dn": "std::nullptr_t", "Da": "auto",
    "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t",
}  # fmt: skip
_STD = {
    "St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string",
    "Si": "std::istream", "So": "std::ostream", "Sd": "std::iostream",
}  # fmt: skip
_OPERATORS = {
    "nw": "new", "dl": "delete", "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "eq": "==",
    "ne": "!=", "lt": "_lt", "gt": "_gt", "le": "_le", "ge": "_ge", "aS": "=", "cl": "()",
    "ix": "[]", "an": "&", "or": "|", "eo": "^", "aa": "&&", "oo": "||", "nt": "!",
}  # fmt: skip


class _CutError(Exception):
    """The mangled text ended, or holds what this demangler does not read."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.size = 0
        self.subs: list[str] = []
        self.targs: list[str] = []
        self.depth = 0

    # -- small steps ---------------------------------------------------------------------------

    def peek(self, n: int = 1) -> str:
        return self.text[self.at : self.at + n]

    def take(self, literal: str) -> bool:
        if self.text.startswith(literal, self.at):
            self.at += len(literal)
            return True
        return False

    def need(self, literal: str) -> None:
        if not self.take(literal):
            raise _CutError

    def put(self, text: str) -> None:
        self.size += len(text)
        if self.size > _OUTPUT:
            raise _CutError
        self.out.append(text)

    def mark(self) -> int:
        return len(self.out)

    def since(self, mark: int) -> str:
        """All that was written since ``mark``, folded into one piece."""
        text = "".join(self.out[mark:])
        self.out[mark:] = [text]
        return text

    def remember(self, mark: int) -> None:
        if len(self.subs) >= 4096:
            raise _CutError
        self.subs.append(self.since(mark))

    def number(self) -> int:
        start = self.at
        while self.peek().isdigit() and self.at - start < 9:
            self.at += 1
        if start == self.at:
            raise _CutError
        return int(self.text[start : self.at])

    def sequence(self) -> int:
        """``_`` is 0, ``<base 36>_`` counts from 1."""
        start = self.at
        while self.peek() not in ("", "_") and self.at - start < 6:
            self.at += 1
        digits = self.text[start : self.at]
        self.need("_")
        try:
            return int(digits, 36) + 1 if digits else 0
        except ValueError:
            raise _CutError from None

    # -- names -----------------------------------------------------------------------------------

    def source_name(self) -> None:
        n = self.number()
        text = self.text[self.at : self.at + n]
        self.at += n
        if text.startswith("_GLOBAL__N_"):
            text = "(anonymous namespace)"
        self.put(text)
        if len(text) < n and self.at > len(self.text):
            raise _CutError

    def unqualified(self) -> None:
        c = self.peek()
        if c.isdigit():
            self.source_name()
        elif self.take("Ul"):
            self.put("{lambda(")
            self.types_until_e()
            n = self.sequence()
            self.put(f")#{n + 1}}}")
        elif self.take("Ut"):
            n = self.sequence()
            self.put(f"{{unnamed#{n + 1}}}")
        elif c in ("C", "D") and self.peek(2)[1:].isdigit():
            self.at += 2
            self.put("ctor" if c == "C" else "dtor")
        elif self.take("cv"):
            self.put("operator ")
            self.type()
        elif self.take("L"):
            self.unqualified()
        else:
            name = _OPERATORS.get(self.peek(2))
            if name is None:
                raise _CutError
            self.at += 2
            self.put("operator" + name)
        while self.take("B"):
            n = self.number()
            self.at += n

    def types_until_e(self) -> None:
        first = True
        while not self.take("E"):
            if self.take("v"):
                continue
            if not first:
                self.put(", ")
            first = False
            self.type()

    def nested(self) -> None:
        while self.peek() in ("r", "V", "K", "R", "O"):
            self.at += 1
        mark = self.mark()
        first = True
        while not self.take("E"):
            if self.peek() == "I":
                self.template_args()
                if self.peek() != "E":
                    self.remember(mark)
                continue
            if self.peek() == "S" and first:
                self.substitution()
                first = False
                continue
            if not first:
                self.put("::")
            if self.peek() == "T":
                self.template_param()
            elif self.peek(2) in ("Dt", "DT"):
                raise _CutError
            else:
                self.unqualified()
            first = False
            if self.peek() != "E":
                self.remember(mark)

    def local(self) -> None:
        self.encoding()
        self.need("E")
        self.put("::")
        if self.take("s"):
            self.put("string literal")
        elif self.take("d"):
            self.sequence()
            self.name()
        else:
            self.name()
        if self.take("_"):
            while self.peek().isdigit():
                self.at += 1

    def name(self) -> bool:
        """Write a name; whether it ends in template arguments (then a return type follows)."""
        self.depth += 1
        if self.depth > _DEPTH:
            raise _CutError
        mark = self.mark()
        if self.take("N"):
            self.nested()
            templated = "".join(self.out[mark:]).endswith(">")
        elif self.take("Z"):
            self.local()
            templated = False
        else:
            if self.peek() == "S" and self.peek(2) != "St":
                self.substitution()
            else:
                if self.take("St"):
                    self.put("std::")
                self.unqualified()
                if self.peek() == "I":
                    self.remember(mark)
            templated = self.peek() == "I"
            if templated:
                self.template_args()
        self.depth -= 1
        return templated

    def substitution(self) -> None:
        two = self.peek(2)
        if two in _STD:
            self.at += 2
            self.put(_STD[two])
            return
        self.need("S")
        n = self.sequence()
        if n >= len(self.subs):
            raise _CutError
        self.put(self.subs[n])

    def template_param(self) -> None:
        self.need("T")
        n = self.sequence()
        self.put(self.targs[n] if n < len(self.targs) else "auto")

    def template_args(self) -> None:
        self.need("I")
        self.put("<")
        outer = self.depth <= 1
        args: list[str] = []
        first = True
        while not self.take("E"):
            if not first:
                self.put(", ")
            first = False
            mark = self.mark()
            self.template_arg()
            args.append(self.since(mark))
        if outer:
            self.targs = args
        self.put(">")

    def template_arg(self) -> None:
        if self.take("L"):
            self.literal()
        elif self.take("J"):
            first = True
            while not self.take("E"):
                if not first:
                    self.put(", ")
                first = False
                self.template_arg()
        elif self.peek() == "X":
            raise _CutError
        else:
            self.type()

    def literal(self) -> None:
        if self.take("_Z"):
            self.encoding()
            self.need("E")
            return
        code = self.peek()
        builtin = code in _BUILTIN
        if builtin:
            self.at += 1
        else:
            mark = self.mark()
            self.type()
            del self.out[mark:]
        end = self.text.find("E", self.at)
        if end < 0 or end - self.at > 40:
            raise _CutError
        value = self.text[self.at : end].replace("n", "-")
        self.at = end + 1
        if code == "b":
            value = "true" if value == "1" else "false"
        self.put(value)

    # -- types -----------------------------------------------------------------------------------

    def type(self) -> None:
        self.depth += 1
        if self.depth > _DEPTH:
            raise _CutError
        mark = self.mark()
        c = self.peek()
        substitutable = True
        if c in _BUILTIN:
            self.at += 1
            self.put(_BUILTIN[c])
            substitutable = False
        elif c in ("P", "R", "O"):
            self.at += 1
            self.type()
            self.put({"P": "*", "R": "&", "O": "&&"}[c])
        elif c in ("K", "V", "r"):
            self.at += 1
            self.type()
            self.put(" const" if c == "K" else "")
        elif c == "D":
            substitutable = self.d_type()
        elif c == "T":
            self.template_param()
            if self.peek() == "I":
                self.remember(mark)
                self.template_args()
        elif c == "A":
            self.at += 1
            n = self.number() if self.peek().isdigit() else 0
            self.need("_")
            self.type()
            self.put(f"[{n}]")
        elif c == "F":
            self.function()
        elif c == "S" and self.peek(2) != "St":
            self.substitution()
            substitutable = self.peek() == "I"
            if substitutable:
                self.template_args()
        elif self.take("u"):
            self.source_name()
        else:
            self.name()
        if substitutable:
            self.remember(mark)
        self.depth -= 1

    def d_type(self) -> bool:
        """Types that begin with ``D``; whether the type can be referred to again."""
        for code, word in _BUILTIN_D.items():
            if self.take(code):
                self.put(word)
                return False
        if self.take("Dp"):
            self.type()
            return True
        if self.take("Dv"):
            n = self.number()
            self.need("_")
            self.type()
            self.put(f" __vector({n})")
            return True
        raise _CutError

    def function(self) -> None:
        self.need("F")
        self.take("Y")
        self.type()
        self.put("(")
        self.types_until_e()
        self.put(")")

    def encoding(self) -> None:
        """A function: name and parameters. The return type of a template is read and dropped."""
        templated = self.name()
        if self.peek() in ("", "E", "."):
            return
        if templated:
            mark = self.mark()
            self.type()
            del self.out[mark:]
        self.put("(")
        first = True
        while self.peek() not in ("", "E", "."):
            if self.take("v"):
                continue
            if not first:
                self.put(", ")
            first = False
            self.type()
        self.put(")")


def demangle(text: str) -> tuple[str, bool]:
    """The readable form of ``text`` and whether something could not be read.

    >>> demangle("_ZN5aiter4normIDF16bLi8EEEvPT_")
    ('aiter::norm<__bf16, 8>(__bf16*)', False)
    >>> demangle("_ZN2at6native4fillIfL")
    ('at::native::fill<float, ', True)
    >>> demangle("_Zoo")
    ('_Zoo', True)
    """
    reader = _Reader(text)
    reader.at = text.index("_Z") + 2
    try:
        reader.encoding()
    except (_CutError, RecursionError):
        done = "".join(reader.out)
        return (done or text), True
    return "".join(reader.out), False
