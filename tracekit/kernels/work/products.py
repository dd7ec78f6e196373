"""Matrix products and convolutions."""

from __future__ import annotations

import math

from tracekit.kernels.work.args import Args, Dims, int_list, numel

_Result = tuple[int | None, int | None, int | None, str]

_MATMULS = {
    # name: index of the two operands, index of the tensor that is added or -1
    "aten::mm": (0, 1, -1),
    "aten::bmm": (0, 1, -1),
    "aten::matmul": (0, 1, -1),
    "aten::addmm": (1, 2, 0),
    "aten::addmm_": (1, 2, 0),
    "aten::_addmm_activation": (1, 2, 0),
    "aten::baddbmm": (1, 2, 0),
    "aten::baddbmm_": (1, 2, 0),
    "aten::addbmm": (1, 2, 0),
    "aten::mv": (0, 1, -1),
    "aten::addmv": (1, 2, 0),
    "aten::addmv_": (1, 2, 0),
    "aten::dot": (0, 1, -1),
    "aten::vdot": (0, 1, -1),
    "aten::_scaled_mm": (0, 1, -1),
    "aten::_scaled_grouped_mm": (0, 1, -1),
    "aten::_grouped_mm": (0, 1, -1),
    "aten::_int_mm": (0, 1, -1),
}


def work(name: str, args: Args) -> _Result | None:
    """Work of the ``mm`` family, ``linear``, ``einsum``-free products and convolutions."""
    if name in _MATMULS:
        return _matmul(name, args)
    if name == "aten::linear" and len(args.dims) > 1 and len(args.dims[1]) == 2:
        return _linear(args)
    if name in _CONVOLUTIONS:
        return _convolution(name, args)
    return None


def _matmul(name: str, args: Args) -> _Result | None:
    first, second, added = _MATMULS[name]
    if len(args.dims) <= second:
        return None
    a, b = args.dims[first], args.dims[second]
    out = product_shape(a, b)
    if out is None:
        return None
    size = args.size(first)
    read = _total(args, [first, second, *([added] if added >= 0 else [])])
    write = None
    if size is not None:
        item = 4 if name == "aten::_int_mm" else 2 if "scaled" in name else size
        write = math.ceil(numel(out) * item)
    return 2 * numel(out) * a[-1], read, write, "matmul"


def product_shape(a: Dims, b: Dims) -> Dims | None:
    """Shape of ``a @ b``; grouped products (3-d by 2-d and the like) give their dense output.

    >>> product_shape((8, 4, 2), (8, 2, 3)), product_shape((4, 2), (3,))
    ((8, 4, 3), None)
    """
    if not a or not b:
        return None
    if len(b) == 1:
        return (a[:-1] if len(a) > 1 else ()) if a[-1] == b[0] else None
    if a[-1] != b[-2]:
        return None
    if len(a) == 1:
        return (*b[:-2], b[-1])
    lead = a[:-2] if len(a) >= len(b) else b[:-2]
    if len(a) == 2 and len(b) == 3:  # grouped: rows are shared out over the groups
        lead = ()
    return (*lead, a[-2], b[-1])


def _linear(args: Args) -> _Result | None:
    x, w = args.dims[0], args.dims[1]
    if not x or x[-1] != w[1]:
        return None
    out = (*x[:-1], w[0])
    size = args.size(0)
    write = None if size is None else math.ceil(numel(out) * size)
    return 2 * numel(out) * w[1], _total(args, [0, 1, 2]), write, "matmul"


def _total(args: Args, places: list[int]) -> int | None:
    sizes = [args.bytes(i) for i in places if args.is_tensor(i)]
    return None if not sizes or any(s is None for s in sizes) else sum(s or 0 for s in sizes)


_CONVOLUTIONS = {
    # name: index of stride, padding, dilation, transposed (or None), groups
    "aten::conv2d": (3, 4, 5, None, 6),
    "aten::conv1d": (3, 4, 5, None, 6),
    "aten::conv3d": (3, 4, 5, None, 6),
    "aten::convolution": (3, 4, 5, 6, 8),
    "aten::_convolution": (3, 4, 5, 6, 8),
    "aten::cudnn_convolution": (3, 2, 4, None, 5),
    "aten::miopen_convolution": (4, 3, 5, None, 6),
    "aten::convolution_backward": (4, 5, 6, 7, 9),
}


def _convolution(name: str, args: Args) -> _Result | None:
    backward = name == "aten::convolution_backward"
    first = 1 if backward else 0
    if len(args.dims) < first + 2:
        return None
    x, w = args.dims[first], args.dims[first + 1]
    if len(x) < 3 or len(x) != len(w):
        return None
    if backward:
        out: Dims | None = args.dims[0]
    else:
        out = _output(name, args, x, w)
    size = args.size(first)
    if not out or len(out) != len(x) or size is None:
        return None
    transposed = _CONVOLUTIONS[name][3]
    flip = transposed is not None and args.text(transposed) == "True"
    # Each output (transposed: each input) element is a dot product over the kernel window.
    flops = 2 * numel(x if flip else out) * numel(w[1:])
    if backward:
        masks = args.text(10)
        wanted = masks.count("True") if masks else 2
        flops *= min(max(wanted, 1), 2)
        read = _total(args, [0, 1, 2])
        return flops, read, math.ceil((numel(x) + numel(w)) * size), "convolution"
    return flops, _total(args, [0, 1]), math.ceil(numel(out) * size), "convolution"


def _output(name: str, args: Args, x: Dims, w: Dims) -> Dims | None:
    """Output size of a convolution (torch.nn.ConvNd and ConvTransposeNd)."""
    s, p, d, t, _ = _CONVOLUTIONS[name]
    stride, padding, dilation = (int_list(args.text(i)) for i in (s, p, d))
    spatial = len(x) - 2
    if stride is None or padding is None or dilation is None:
        return None
    if not all(len(v) in (1, spatial) for v in (stride, padding, dilation)):
        return None
    full = [v * spatial if len(v) == 1 else v for v in (stride, padding, dilation)]
    out = []
    transposed = t is not None and args.text(t) == "True"
    for i in range(spatial):
        st, pa, di = (v[i] for v in full)
        if st <= 0:
            return None
        if transposed:
            out.append((x[i + 2] - 1) * st - 2 * pa + di * (w[i + 2] - 1) + 1)
        else:
            out.append((x[i + 2] + 2 * pa - di * (w[i + 2] - 1) - 1) // st + 1)
    if any(v < 0 for v in out):
        return None
    return (x[0], w[1] if transposed else w[0], *out)
