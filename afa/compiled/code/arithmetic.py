"""Python's arithmetic in LLVM IR. Overflow, division by zero and results that float64 can't hold exactly make the code *ask*."""

from __future__ import annotations

from afa.compiled.code.writer import Writer

EXACT = "0x4340000000000000"  # 2.0**53
INT64 = "0x43E0000000000000"  # 2.0**63
NAN = "0x7FF8000000000000"
NORMAL = "0x0010000000000000"  # the least float64 that is no subnormal
INFINITY = "0x7FF0000000000000"


def checked(w: Writer, op: str, x: str, y: str) -> str:
    w.declared.add(f"declare {{i64, i1}} @llvm.s{op}.with.overflow.i64(i64, i64)")
    pair = w.let(f"call {{i64, i1}} @llvm.s{op}.with.overflow.i64(i64 {x}, i64 {y})")
    w.ask_if(w.let(f"extractvalue {{i64, i1}} {pair}, 1"))
    return w.let(f"extractvalue {{i64, i1}} {pair}, 0")


def int_division(w: Writer, op: str, x: str, y: str) -> str:
    """Write floor division and its remainder, which has the sign of the divisor."""
    w.ask_if(w.let(f"icmp eq i64 {y}, 0"))
    least = w.let(f"icmp eq i64 {x}, {-(2**63)}")
    minus = w.let(f"icmp eq i64 {y}, -1")
    w.ask_if(w.let(f"and i1 {least}, {minus}"))
    remainder = w.let(f"srem i64 {x}, {y}")
    apart = w.let(f"icmp slt i64 {w.let(f'xor i64 {remainder}, {y}')}, 0")
    off = w.let(f"and i1 {w.let(f'icmp ne i64 {remainder}, 0')}, {apart}")
    if op == "mod":
        return w.let(f"add i64 {remainder}, {w.let(f'select i1 {off}, i64 {y}, i64 0')}")
    return w.let(f"sub i64 {w.let(f'sdiv i64 {x}, {y}')}, {w.let(f'zext i1 {off} to i64')}")


def int_power(w: Writer, x: str, n: str) -> str:
    """Write a power by squaring; ``n`` is not negative. A square that is not needed is not computed, as it may overflow."""
    before, loop, odd, next_, square, end = w.block, *(w.name() for _ in range(5))
    result, base, left, product, squared, half = (w.name("%v") for _ in range(6))
    w.goto(loop)
    w.place(loop)
    w.line(f"{result} = phi i64 [1, %{before}], [{product}, %{square}]")
    w.line(f"{base} = phi i64 [{x}, %{before}], [{squared}, %{square}]")
    w.line(f"{left} = phi i64 [{n}, %{before}], [{half}, %{square}]")
    w.branch(w.let(f"trunc i64 {left} to i1"), odd, next_)
    w.place(odd)
    multiplied = checked(w, "mul", result, base)
    after = w.block
    w.goto(next_)
    w.place(next_)
    w.line(f"{product} = phi i64 [{result}, %{loop}], [{multiplied}, %{after}]")
    w.line(f"{half} = lshr i64 {left}, 1")
    more = w.name()
    w.branch(w.let(f"icmp eq i64 {half}, 0"), end, more)
    w.place(more)
    found = checked(w, "mul", base, base)
    w.goto(square)
    w.place(square)
    w.line(f"{squared} = add i64 {found}, 0")
    w.goto(loop)
    w.place(end)
    return product


def true_division(w: Writer, x: str, y: str) -> str:
    w.ask_if(w.let(f"fcmp oeq double {y}, 0.0"))
    return w.let(f"fdiv double {x}, {y}")


def float_division(w: Writer, op: str, x: str, y: str) -> str:
    """Write floor division and remainder, as CPython's float_floor_div and float_rem."""
    w.ask_if(w.let(f"fcmp oeq double {y}, 0.0"))
    mod = w.call("double", "fmod", f"double {x}", f"double {y}")
    some = w.let(f"fcmp une double {mod}, 0.0")
    apart = w.let(f"xor i1 {w.let(f'fcmp olt double {y}, 0.0')}, {w.let(f'fcmp olt double {mod}, 0.0')}")
    off = w.let(f"and i1 {some}, {apart}")
    if op == "mod":
        return w.let(f"fadd double {mod}, {w.let(f'select i1 {off}, double {y}, double 0.0')}")
    quotient = w.let(f"fdiv double {w.let(f'fsub double {x}, {mod}')}, {y}")
    quotient = w.let(f"fsub double {quotient}, {w.let(f'select i1 {off}, double 1.0, double 0.0')}")
    floor = w.call("double", "llvm.floor.f64", f"double {quotient}")
    over = w.let(f"fcmp ogt double {w.let(f'fsub double {quotient}, {floor}')}, 5.0e-1")
    return w.let(f"fadd double {floor}, {w.let(f'select i1 {over}, double 1.0, double 0.0')}")


def float_power(w: Writer, x: str, y: str) -> str:
    """Write C's pow for finite operands and results that are finite, and no zero or subnormal (C may set errno for others)."""
    result = w.call("double", "pow", f"double {x}", f"double {y}")
    size = w.call("double", "llvm.fabs.f64", f"double {result}")
    plain = w.let(f"and i1 {w.let(f'fcmp oge double {size}, {NORMAL}')}, {w.let(f'fcmp olt double {size}, {INFINITY}')}")
    plain = w.let(f"or i1 {plain}, {w.let(f'fcmp oeq double {size}, 0.0')}")
    finite = [w.let(f"fcmp olt double {w.call('double', 'llvm.fabs.f64', f'double {z}')}, {INFINITY}") for z in (x, y)]
    both = w.let(f"and i1 {finite[0]}, {finite[1]}")
    w.ask_if(w.let(f"and i1 {both}, {w.let(f'xor i1 {plain}, true')}"))
    return result


def ask_library(w: Writer, result: str, operands: list[str]) -> None:
    """Ask where Python's math raises: NaN of numbers, and infinity of finite ones."""
    size = w.call("double", "llvm.fabs.f64", f"double {result}")
    sizes = [w.call("double", "llvm.fabs.f64", f"double {x}") for x in operands]
    on, cold = w.name(), w.name()
    w.branch(w.let(f"fcmp olt double {size}, {INFINITY}"), on, cold)
    w.place(cold)
    w.ask_if(w.let(f"and i1 {w.let(f'fcmp ord double {sizes[0]}, {sizes[-1]}')}, {w.let(f'fcmp uno double {size}, {size}')}"))
    finite = [w.let(f"fcmp olt double {x}, {INFINITY}") for x in sizes]
    w.ask_if(w.let(f"and i1 {finite[0]}, {finite[-1]}"))
    w.goto(on)
    w.place(on)


def below(w: Writer, x: str, bound: str) -> None:
    """Ask if ``|x| >= bound``, or NaN."""
    size = w.call("double", "llvm.fabs.f64", f"double {x}")
    w.ask_if(w.let(f"fcmp uge double {size}, {bound}"))


def exact(w: Writer, x: str) -> str:
    """Return an int as a float; beyond 2**53 ask."""
    w.ask_if(w.let(f"icmp ugt i64 {w.let(f'add i64 {x}, {2**53}')}, {2**54}"))
    return w.let(f"sitofp i64 {x} to double")


def whole(w: Writer, x: str) -> str:
    """Return a float without its fraction as an int64; ask where it has none."""
    below(w, x, INT64)
    return w.let(f"fptosi double {x} to i64")


def canonical(w: Writer, x: str) -> str:
    """Return a float as payloads carry it: one NaN, no -0.0."""
    plain = w.let(f"fadd double {x}, 0.0")  # -0.0 becomes 0.0
    return w.let(f"select i1 {w.let(f'fcmp uno double {plain}, {plain}')}, double {NAN}, double {plain}")
