"""Print LLVM IR of kernels and of arcs as C for devices: what `afa.compiled.machine` and `afa.compiled.code` write, and no more.

    %v.3 = add i64 %v.2, 7               Vv__3 = ADD(Vv__2, 7L);
    %m = load i64, ptr %v4, align 8      Vm = *(G long *)(B + Vv4);       an address is a place in the one array ``B``
    %a.1 = alloca i64                    a name of the function
    br i1 %v5, label %next, label %on    what the phis of a block take is set in front of the jump to it

The text is C that OpenCL and CUDA share, behind a dozen macros (`afa.compiled.device.preludes`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

TYPES = {"i64": "long", "ptr": "long", "double": "double", "i1": "int", "i8": "long"}
ARITHMETIC = {"add": "ADD", "sub": "SUB", "mul": "MUL", "shl": "SHL", "lshr": "LSHR"}
PLAIN = {"sdiv": "/", "srem": "%", "and": "&", "or": "|", "xor": "^", "ashr": ">>"}
FLOATS = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
ORDERS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
WHOLE = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "roundeven": "rint", "fabs": "fabs"}
"""LLVM's functions of floats that each device computes to the bit, and their names in C."""
EXACT = ("fmod", "sqrt")
"""Functions of the C library that each device computes to the bit, too."""
_DEFINE = re.compile(r"define (?:internal )?(\S+|\[\d+ x i64\]) @(\S+?)\((.*?)\)[^()]*\{$")
_TUPLE = re.compile(r"\[(\d+) x i64\]")
_ARGUMENT = re.compile(r"(\[\d+ x i64\]|\S+)(?: noalias| readonly)* (\S+)")


class NoDeviceText(Exception):  # noqa: N818  (no error: the processor runs that code)
    """Code that no device runs; the text says what is in it."""


def c_text(ir: str, numbered: Sequence[str] = ()) -> str:
    """Return a module of LLVM IR as functions in C, each declared in front of all. O(lines). Raises `NoDeviceText`.

    ``numbered``: the functions of four words that are called by address there, and here by their numbers, from 1.

    >>> print(c_text("define i64 @seven(i64 %a) {\\n  %v.1 = add i64 %a, 7\\n  ret i64 %v.1\\n}"), end="")
    static long F_seven(G char *B, long Va);
    static long CALL(G char *B, long code, long a, long b, long c, long d) {
    switch (code) {
    }
    return -1L;
    }
    static long F_seven(G char *B, long Va) {
    long Vv__1;
    Vv__1 = ADD(Va, 7L);
    return Vv__1;
    }
    """
    made = [_Function(head, body) for head, body in _functions(ir)]
    tuples = sorted({int(size) for size in _TUPLE.findall(ir)})
    kinds = [f"typedef struct {{ long v[{n}]; }} T{n};\n" for n in tuples]
    cases = "".join(f"case {number}: return F_{_plain(name)}(B, a, b, c, d);\n" for number, name in enumerate(numbered, 1))
    call = (
        f"static long CALL(G char *B, long code, long a, long b, long c, long d) {{\nswitch (code) {{\n{cases}}}\nreturn -1L;\n}}\n"
    )
    return "".join([*kinds, *(f"{each.head};\n" for each in made), call, *(each.text for each in made)])


def _functions(ir: str) -> Iterator[tuple[str, list[str]]]:
    head, body = "", list[str]()
    for line in ir.splitlines():
        if line.startswith("define "):
            head, body = line, []
        elif line == "}":
            yield head, body
        elif head and line:
            body.append(line)


class _Function:
    """One function; its names and phis are found first."""

    def __init__(self, head: str, body: list[str]) -> None:
        match = _DEFINE.match(head)
        if match is None:
            raise NoDeviceText(head)
        gives, name, given = match.groups()
        arguments = [_ARGUMENT.fullmatch(each) for each in given.split(", ") if each]
        takes = [f"{_type(each[1])} {_name(each[2])}" for each in arguments if each is not None]
        self.head = f"static {_type(gives)} F_{_plain(name)}({', '.join(['G char *B', *takes])})"
        self._body = body
        self._kinds: dict[str, str] = {}  # of each name its type in C
        self._own: set[str] = set()  # names whose address is taken, places on the stack
        self._pairs: set[str] = set()  # results of checked arithmetic: two names each
        self._phis: dict[str, list[tuple[str, str, dict[str, str]]]] = {}
        self._block, self._lines = "entry", list[str]()
        self._find_phis()
        for line in body:
            self._line(line)
        names = [f"{kind} {name};\n" for name, kind in self._kinds.items()]
        self.text = "".join([f"{self.head} {{\n", *names, *(f"{line}\n" for line in self._lines), "}\n"])

    def _find_phis(self) -> None:
        block = "entry"
        for line in self._body:
            if line.endswith(":"):
                block = line[:-1]
            elif " = phi " in line:
                name, rest = line.strip().split(" = phi ", 1)
                kind, ways = rest.split(" ", 1)
                from_ = {label: value for value, label in re.findall(r"\[\s*(\S+?), %(\S+?)\s*\]", ways)}
                self._phis.setdefault(block, []).append((_name(name), kind, from_))

    def _line(self, line: str) -> None:
        if line.endswith(":"):
            self._block = line[:-1]
            self._lines.append(f"L_{_plain(self._block)}: ;")
            for name, kind, _ in self._phis.get(self._block, ()):
                self._kinds[f"P{name}"] = TYPES[kind]
                self._let(name, kind, f"P{name}")
            return
        text = re.sub(r", (!|align )[^,]*", "", line.strip())
        name, equals, rest = text.partition(" = ")
        if not equals:
            name, rest = "", text
        op, _, rest = rest.partition(" ")
        if op == "phi":
            return
        do: Callable[[str, str, str], None] | None = getattr(self, f"_{op}", None)
        if do is None:
            do = self._operation
        do(_name(name) if name else "", op, rest)

    def _let(self, name: str, kind: str, value: str) -> None:
        self._kinds[name] = _type(kind)
        self._lines.append(f"{name} = {value};")

    # -- memory ------------------------------------------------------------------------------------------------------------

    def _alloca(self, name: str, op: str, rest: str) -> None:
        self._kinds[name] = _type(rest)
        self._own.add(name)

    def _place(self, pointer: str, kind: str) -> str:
        """Return what stands at a pointer."""
        name = _name(pointer)
        if name in self._own:
            return name
        if self._kinds.get(name) == "long *":
            return f"*{name}"
        whole = {"i64": "long", "ptr": "long", "double": "double", "i8": "uchar"}
        return f"*(G {whole[kind]} *)(B + {name})"

    def _load(self, name: str, op: str, rest: str) -> None:
        kind, pointer = rest.rsplit(", ptr ", 1)
        self._let(name, kind, self._place(pointer, kind))

    def _store(self, name: str, op: str, rest: str) -> None:
        what, pointer = rest.rsplit(", ptr ", 1)
        kind, value = what.rsplit(" ", 1)
        self._lines.append(f"{self._place(pointer, kind)} = {_value(kind, value)};")

    def _getelementptr(self, name: str, op: str, rest: str) -> None:
        match = re.fullmatch(r"(?:inbounds )?(i64|i8), ptr (\S+), i64 (\S+)", rest)
        if match is None:
            raise NoDeviceText(rest)
        kind, pointer, index = match.groups()
        if _name(pointer) in self._own:
            self._kinds[name] = "long *"
            self._lines.append(f"{name} = &{_name(pointer)}.v[{_value('i64', index)}];")
        else:
            by = f"MUL({_value('i64', index)}, 8)" if kind == "i64" else _value("i64", index)
            self._let(name, "ptr", f"ADD({_name(pointer)}, {by})")

    # -- jumps -------------------------------------------------------------------------------------------------------------

    def _jump(self, label: str) -> str:
        taken = [f"P{name} = {_value(kind, ways[self._block])};" for name, kind, ways in self._phis.get(label, ())]
        return " ".join([*taken, f"goto L_{_plain(label)};"])

    def _br(self, name: str, op: str, rest: str) -> None:
        match = re.fullmatch(r"i1 (\S+), label %(\S+), label %(\S+)", rest)
        if match is None:
            self._lines.append(self._jump(rest.removeprefix("label %")))
        else:
            test, yes, no = match.groups()
            self._lines.append(f"if ({_value('i1', test)}) {{ {self._jump(yes)} }} else {{ {self._jump(no)} }}")

    def _switch(self, name: str, op: str, rest: str) -> None:
        head, _, cases = rest.partition(" [")
        value, other = re.fullmatch(r"i64 (\S+), label %(\S+)", head).groups()  # type: ignore[union-attr]
        for case, label in re.findall(r"i64 (-?\d+), label %(\S+?)[\s\]]", cases):
            self._lines.append(f"if ({_value('i64', value)} == {_value('i64', case)}) {{ {self._jump(label)} }}")
        self._lines.append(self._jump(other))

    def _ret(self, name: str, op: str, rest: str) -> None:
        kind, value = rest.rsplit(" ", 1)
        self._lines.append(f"return {_value(kind, value)};")

    # -- values ------------------------------------------------------------------------------------------------------------

    def _operation(self, name: str, op: str, rest: str) -> None:
        """Write an operation of two values of one type."""
        rest = re.sub(r"^(?:nsw |nuw |exact )+", "", rest)
        kind, _, both = rest.partition(" ")
        values = [_value(kind, each) for each in both.split(", ")]
        if op in ARITHMETIC:
            self._let(name, kind, f"{ARITHMETIC[op]}({', '.join(values)})")
        elif op in PLAIN or op in FLOATS:
            self._let(name, kind, f"{values[0]} {(PLAIN | FLOATS)[op]} {values[1]}")
        elif op == "fneg":
            self._let(name, kind, f"-{values[0]}")
        else:
            raise NoDeviceText(op)

    def _icmp(self, name: str, op: str, rest: str) -> None:
        how, kind, both = rest.split(" ", 2)
        x, y = (_value(kind, each) for each in both.split(", "))
        if how[0] == "u" and kind == "i64":
            x, y = f"(ulong)({x})", f"(ulong)({y})"
        self._let(name, "i1", f"{x} {ORDERS[how if how in ORDERS else how[1:]]} {y}")

    def _fcmp(self, name: str, op: str, rest: str) -> None:
        how, _, both = rest.split(" ", 2)
        x, y = (_value("double", each) for each in both.split(", "))
        if how in ("uno", "ord"):
            test = f"{x} == {x} && {y} == {y}"
            self._let(name, "i1", test if how == "ord" else f"!({test})")
        elif how[0] == "o" and how != "one":
            self._let(name, "i1", f"{x} {ORDERS[how[1:]]} {y}")
        elif how == "une":
            self._let(name, "i1", f"{x} != {y}")
        else:  # unordered: not the opposite
            opposite = {"lt": ">=", "le": ">", "gt": "<=", "ge": "<"}.get(how[1:])
            if how[0] != "u" or opposite is None:
                raise NoDeviceText(f"fcmp {how}")
            self._let(name, "i1", f"!({x} {opposite} {y})")

    def _select(self, name: str, op: str, rest: str) -> None:
        test, yes, no = rest.split(", ")
        kind = yes.split(" ", 1)[0]
        values = [_value(kind, each.split(" ", 1)[1]) for each in (yes, no)]
        self._let(name, kind, f"{_value('i1', test.split(' ', 1)[1])} ? {values[0]} : {values[1]}")

    def _convert(self, name: str, op: str, rest: str) -> None:
        match = re.fullmatch(r"(\S+) (\S+) to (\S+)", rest)
        assert match is not None, rest
        from_, text, to = match.groups()
        value = _value(from_, text)
        if op == "bitcast":
            value = f"{'as_double' if to == 'double' else 'as_long'}({value})"
        elif op in ("sitofp", "fptosi"):
            value = f"({TYPES[to]})({value})"
        elif op == "trunc":
            value = f"(int)({value} & 1)"
        self._let(name, to, value)

    _zext = _inttoptr = _ptrtoint = _bitcast = _sitofp = _fptosi = _trunc = _convert

    def _insertvalue(self, name: str, op: str, rest: str) -> None:
        match = re.fullmatch(r"(\[\d+ x i64\]) (\S+), i64 (\S+), (\d+)", rest)
        assert match is not None, rest
        kind, whole, word, place = match.groups()
        self._kinds[name] = _type(kind)
        if whole != "undef":
            self._lines.append(f"{name} = {_name(whole)};")
        self._lines.append(f"{name}.v[{place}] = {_value('i64', word)};")

    def _extractvalue(self, name: str, op: str, rest: str) -> None:
        what, place = rest.rsplit(", ", 1)
        whole = _name(what.rsplit(" ", 1)[1])
        if whole in self._pairs:
            self._let(name, "i1" if place == "1" else "i64", f"{whole}_{place}")
        else:
            self._let(name, "i64", f"{whole}.v[{place}]")

    # -- calls -------------------------------------------------------------------------------------------------------------

    def _call(self, name: str, op: str, rest: str) -> None:
        match = re.fullmatch(r"(\{i64, i1\}|\[\d+ x i64\]|\S+) @(\S+?)\((.*)\)", rest)
        if match is None:
            code, given = re.fullmatch(r"i64 (\S+?)\((.*)\)", rest).groups()  # type: ignore[union-attr]
            words = [_value("i64", each.split(" ")[1]) for each in given.split(", ")]
            self._let(name, "i64", f"CALL({', '.join(['B', _name(code), *words])})")
            return
        gives, called, given = match.groups()
        values = [_value(*each.rsplit(" ", 1)) for each in re.split(r", (?=ptr|i64|i32|i1|double|\[)", given) if each]
        if not called.startswith("llvm."):
            if called in EXACT:
                self._let(name, gives, f"{called}({', '.join(values)})")
            elif "." not in called:
                raise NoDeviceText(f"the function {called}")
            else:
                self._let(name, gives, f"F_{_plain(called)}({', '.join(['B', *values])})")
            return
        what = called.split(".")[1]
        if what in ("smin", "smax"):
            self._let(name, gives, f"{values[0]} {'<' if what == 'smin' else '>'} {values[1]} ? {values[0]} : {values[1]}")
        elif what == "abs":
            self._let(name, gives, f"{values[0]} < 0 ? SUB(0L, {values[0]}) : {values[0]}")
        elif what in WHOLE:
            self._let(name, gives, f"{WHOLE[what]}({values[0]})")
        elif called.endswith(".with.overflow.i64"):
            self._pairs.add(name)
            self._let(f"{name}_0", "i64", f"{ARITHMETIC[what[1:]]}({', '.join(values)})")
            self._let(f"{name}_1", "i1", f"{ARITHMETIC[what[1:]]}_OVER({', '.join([*values, f'{name}_0'])})")
        elif what == "memcpy":
            self._lines.append(f"COPY({values[0]}, {values[1]}, {values[2]});")
        elif what != "prefetch":
            raise NoDeviceText(f"the function {called}")


def _type(kind: str) -> str:
    match = _TUPLE.fullmatch(kind)
    return f"T{match[1]}" if match else TYPES[kind]


def _plain(name: str) -> str:
    return name.replace(".", "__")


def _name(name: str) -> str:
    return f"V{_plain(name.removeprefix('%'))}"


def _value(kind: str, text: str) -> str:
    """Return a name or a constant."""
    if text.startswith("%"):
        return _name(text)
    if text in ("true", "false"):
        return str(int(text == "true"))
    if kind.startswith("double"):
        return f"as_double({text}UL)" if text.startswith("0x") else text
    if text == "undef":
        return "0"
    return "(-9223372036854775807L - 1)" if text == str(-(2**63)) else f"{text}L"
