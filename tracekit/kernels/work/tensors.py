"""Everything that streams over tensors: elementwise, softmax, norms, reductions, copies, indexing."""

from __future__ import annotations

import math
import re

from tracekit.kernels.work.args import ITEM_BYTES, Args, Dims, broadcast, int_list, numel

_Result = tuple[int | None, int | None, int | None, str]

_FILL = re.compile(r"^aten::(fill_|zero_)$")
_COPY = re.compile(r"^aten::copy_$")
_SOFTMAX = re.compile(r"^aten::(_softmax|_log_softmax|_safe_softmax)$")
_SOFTMAX_BACKWARD = re.compile(r"^aten::(_softmax_backward_data|_log_softmax_backward_data)$")
_NORM = re.compile(
    r"^aten::(native_layer_norm|native_group_norm|native_batch_norm|cudnn_batch_norm|_fused_rms_norm|batch_norm|_batch_norm_impl_index|rms_norm)$"
)
_REDUCE = re.compile(
    r"^aten::(sum|mean|amax|amin|max|min|all|any|norm|linalg_vector_norm|var|std|argmax|argmin|prod|cumsum|logsumexp|nansum|var_mean|std_mean)$"
)
_COMPARE = re.compile(
    r"^aten::(eq|ne|lt|le|gt|ge|isneginf|isposinf|isnan|isinf|isfinite|logical_not|logical_and|logical_or|bitwise_not)$"
)
_ELEMENTWISE = re.compile(
    r"^aten::(add|sub|mul|div|rsub|pow|sqrt|rsqrt|exp|log|neg|abs|tanh|sigmoid|relu|gelu|silu|hardtanh|clamp|clamp_min|clamp_max|cos|sin|erf|"
    r"masked_fill|where|maximum|minimum|addcmul|addcdiv|lerp|threshold|reciprocal|square|leaky_relu|threshold_backward|"
    r"sigmoid_backward|tanh_backward|gelu_backward|silu_backward|bitwise_not|bitwise_and|logical_not|remainder|floor|round|sign|native_dropout|"
    r"native_dropout_backward|tril|triu|eq|ne|lt|le|gt|ge|isneginf)(_?)$"
)
_BINARY = frozenset(
    ["add", "sub", "mul", "div", "rsub", "pow", "maximum", "minimum", "masked_fill", "lerp", "remainder", "bitwise_and", "logical_and", "logical_or", "eq", "ne", "lt", "le", "gt", "ge", "sigmoid_backward", "tanh_backward", "gelu_backward", "silu_backward", "threshold_backward", "native_dropout_backward"]
)
_TERNARY = frozenset(["where", "addcmul", "addcdiv", "clamp"])

_FLOPS = {"gelu": 8, "silu": 5, "sigmoid": 4, "tanh": 6, "exp": 1, "softmax": 5, "norm": 8}
"""Arithmetic an element, about; these ops are bound by memory whatever the figure."""


def work(name: str, args: Args) -> _Result | None:
    """Work of an op whose cost is the tensors it reads and writes."""
    if _FILL.match(name):
        return 0, 0, args.bytes(0), "fill"
    if _COPY.match(name):
        return 0, args.bytes(1), args.bytes(0), "copy"
    if _SOFTMAX.match(name):
        return _softmax(args)
    if _SOFTMAX_BACKWARD.match(name):
        return _times(args, 0, 5), _sum(args.bytes(0), args.bytes(1)), args.bytes(0), "softmax"
    if _NORM.match(name):
        return (
            _times(args, 0, 8),
            _sum(*(args.bytes(i) for i in (0, 1, 2) if args.is_tensor(i))),
            args.bytes(0),
            "norm",
        )
    if _REDUCE.match(name):
        return _reduce(name, args)
    found = _ELEMENTWISE.match(name) or _COMPARE.match(name)
    if found:
        return _elementwise(name, args)
    if name in ("aten::cat", "aten::_cat", "aten::stack") and args.lists and args.lists[0]:
        size = next((s for i in range(len(args.types)) if (s := args.size(i)) is not None), None)
        if size is None:
            return None
        total = math.ceil(sum(numel(d) for d in args.lists[0]) * size)
        return 0, total, total, "concatenation"
    if name in ("aten::index_select", "aten::embedding", "aten::gather"):
        return _lookup(name, args)
    return None


def _times(args: Args, i: int, factor: int) -> int | None:
    return numel(args.dims[i]) * factor if args.is_tensor(i) else None


def _sum(*parts: int | None) -> int | None:
    return None if any(p is None for p in parts) else sum(p or 0 for p in parts)


def _softmax(args: Args) -> _Result | None:
    if not args.is_tensor(0):
        return None
    read = args.bytes(0)
    widened = args.text(2) == "True"  # half_to_float
    write = numel(args.dims[0]) * 4 if widened else read
    return _times(args, 0, 5), read, write, "softmax"


def _reduce(name: str, args: Args) -> _Result | None:
    if not args.is_tensor(0):
        return None
    dims = args.dims[0]
    axes = int_list(args.text(1)) if args.text(1) else None
    left: Dims = ()
    if axes and all(-len(dims) <= a < len(dims) for a in axes):
        gone = {a % len(dims) for a in axes}
        left = tuple(d for i, d in enumerate(dims) if i not in gone)
    if name == "aten::cumsum":
        left = dims
    size = args.size(0)
    write = None if size is None else math.ceil(numel(left) * size)
    return numel(dims), args.bytes(0), write, "reduction"


def _elementwise(name: str, args: Args) -> _Result | None:
    # An out= variant records its output as one more tensor, behind the inputs.
    tensors = [i for i in range(len(args.dims)) if args.is_tensor(i)][: _inputs(name)]
    if not tensors:
        return None
    in_place = name.endswith("_")
    shape = args.dims[0] if in_place else broadcast([args.dims[i] for i in tensors])
    if shape is None:
        return None
    # A tensor without dimensions does not widen the result (torch's type promotion).
    wide = [i for i in tensors if args.dims[i]] or tensors
    typed = [t for i in wide if (t := args.type(i)) not in (None, "bool")]
    result = args.type(0) if in_place else _widest(typed)
    if _COMPARE.match(name):
        item: float | None = 1
    else:
        item = ITEM_BYTES.get(result or args.type(tensors[0]) or "")
    reads = [args.bytes(i) for i in tensors]
    if item is None or any(r is None for r in reads):
        return None
    factor = _FLOPS.get(name.removeprefix("aten::").rstrip("_"), 1)
    return (
        numel(shape) * factor,
        sum(r or 0 for r in reads),
        math.ceil(numel(shape) * item),
        "elementwise",
    )


def _inputs(name: str) -> int:
    """How many tensors an elementwise op reads at most."""
    base = name.removeprefix("aten::").rstrip("_")
    if base in _TERNARY:
        return 3
    return 2 if base in _BINARY else 1


def _widest(types: list[str]) -> str | None:
    """Result type of mixed operands, enough of torch's promotion for sizes."""
    order = ["fp64", "fp32", "bf16", "fp16", "int64", "int32", "int16", "int8", "uint8"]
    return min((t for t in types if t in order), key=order.index, default=None)


def _lookup(name: str, args: Args) -> _Result | None:
    if len(args.dims) < 2:
        return None
    table = args.dims[0]
    index = (
        args.dims[2]
        if name in ("aten::index_select", "aten::gather") and len(args.dims) > 2
        else args.dims[1]
    )
    size = args.size(0)
    if not table or size is None or not index:
        return None
    rows = numel(index)
    moved = rows if name == "aten::gather" else rows * (numel(table[1:]) if len(table) > 1 else 1)
    total = math.ceil(moved * size)
    return 0, total + rows * 8, total, "lookup"
