"""Every table's columns: name, dtype, unit, nullable, meaning. The only place that defines them.

Times are ``Int64`` nanoseconds (``_ns``), sizes are bytes (``_bytes``), shares are percent
(``_pct``). ``id`` is always the row number of an event in its source, so any figure can be traced
back to the event that made it.

>>> KERNELS.column("dur_ns").unit
'ns'
>>> "queue_delay_ns" in KERNELS.names
True
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import polars as pl

VERSION = 1
"""Version of all schemas together; written into saved traces."""

CAT = pl.Categorical()
I32, I64, F64, BOOL, STR, ID = (
    pl.Int32(),
    pl.Int64(),
    pl.Float64(),
    pl.Boolean(),
    pl.String(),
    pl.UInt32(),
)


@dataclass(frozen=True)
class Column:
    """One column: its polars dtype, unit (``""`` for none), whether null is allowed, its meaning."""

    name: str
    dtype: pl.DataType
    unit: str
    nullable: bool
    meaning: str


@dataclass(frozen=True)
class Table:
    """A named, ordered set of columns.

    >>> EVENTS.empty().shape
    (0, 8)
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> list[str]:
        """Column names in order."""
        return [c.name for c in self.columns]

    @cached_property
    def polars(self) -> pl.Schema:
        """The polars schema."""
        return pl.Schema({c.name: c.dtype for c in self.columns})

    def column(self, name: str) -> Column:
        """The column called ``name``; ``KeyError`` if there is none."""
        for c in self.columns:
            if c.name == name:
                return c
        raise KeyError(name)

    def empty(self) -> pl.DataFrame:
        """A frame of zero rows with this schema."""
        return pl.DataFrame(schema=self.polars)

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """``frame`` with exactly these columns, in order and dtype; absent nullable ones are null.

        Raises ``KeyError`` when a column that may not be null is absent.

        >>> LINKS.conform(LINKS.empty()).columns == LINKS.names
        True
        """
        have = set(frame.columns)
        missing = [c.name for c in self.columns if c.name not in have and not c.nullable]
        if missing:
            raise KeyError(f"table {self.name} lacks {missing}")
        return frame.select(
            (pl.col(c.name).cast(c.dtype) if c.name in have else pl.lit(None, c.dtype)).alias(
                c.name
            )
            for c in self.columns
        )


def _table(name: str, meaning: str, rows: Iterable[tuple[str, pl.DataType, str, str]]) -> Table:
    """Rows are (name, dtype, unit, meaning); a name ending in ``?`` may be null."""
    return Table(
        name,
        meaning,
        tuple(Column(n.rstrip("?"), t, u, n.endswith("?"), m) for n, t, u, m in rows),
    )


# --- What the readers produce -------------------------------------------------------------------

EVENTS = _table(
    "events",
    "One row an event of the source, every phase, as written.",
    [
        (
            "id",
            ID,
            "",
            "row number in the source's event list (entries that are no object included)",
        ),
        ("ph?", CAT, "", "phase: X complete, B/E begin and end, i instant, s/f flow, M metadata …"),
        ("cat?", CAT, "", "category as written"),
        ("name?", CAT, "", "event name, unescaped"),
        ("pid?", CAT, "", "process as text"),
        ("tid?", CAT, "", "thread or stream row as text"),
        (
            "ts_ns?",
            I64,
            "ns",
            "start on the trace's own clock, rounded half-even from the decimal text",
        ),
        ("dur_ns?", I64, "ns", "duration, rounded half-even from the decimal text"),
    ],
)

IDS = _table(
    "ids",
    "Ids that tie events together; a row for each event that has one.",
    [
        ("id", ID, "", "event"),
        ("external_id?", I64, "", "External id: the op that caused the work"),
        ("correlation?", I64, "", "correlation id of a launch and its device activity"),
        ("cbid?", I64, "", "CUPTI callback id of a runtime or driver call"),
        ("ev_idx?", I64, "", "Ev Idx: the profiler's own event index"),
    ],
)

OP_ARGS = _table(
    "op_args",
    "Arguments of CPU ops and annotations. Lists keep their JSON text, interned.",
    [
        ("id", ID, "", "event"),
        ("sequence_number?", I64, "", "autograd sequence number"),
        ("fwd_thread?", I64, "", "Fwd thread id: profiler thread number of the forward op"),
        ("record_function_id?", I64, "", "Record function id"),
        ("input_dims?", CAT, "", "Input Dims, JSON text"),
        ("input_types?", CAT, "", "Input type, JSON text"),
        ("input_strides?", CAT, "", "Input Strides, JSON text"),
        ("concrete_inputs?", CAT, "", "Concrete Inputs, JSON text"),
        ("call_stack?", CAT, "", "Call stack (older Kineto), frames parted by ';'"),
        ("module_hierarchy?", CAT, "", "Module Hierarchy (older Kineto)"),
    ],
)

PYTHON_ARGS = _table(
    "python_args",
    "Arguments of Python frames (with_stack).",
    [
        ("id", ID, "", "event"),
        ("python_id?", I64, "", "Python id of the frame"),
        ("python_parent_id?", I64, "", "Python parent id"),
        ("python_module_id?", I64, "", "Python module id: which nn.Module instance"),
    ],
)

DEVICE_ARGS = _table(
    "device_args",
    "Arguments of device activity: kernels, copies, fills, device-side synchronisation.",
    [
        ("id", ID, "", "event"),
        ("device?", I64, "", "device index"),
        ("context?", I64, "", "driver context"),
        ("stream?", I64, "", "stream"),
        ("grid_x?", I64, "blocks", "grid dimension x"),
        ("grid_y?", I64, "blocks", "grid dimension y"),
        ("grid_z?", I64, "blocks", "grid dimension z"),
        ("block_x?", I64, "threads", "block dimension x"),
        ("block_y?", I64, "threads", "block dimension y"),
        ("block_z?", I64, "threads", "block dimension z"),
        ("registers?", I64, "registers/thread", "registers per thread"),
        ("shared_memory_bytes?", I64, "bytes", "shared memory a block, static and dynamic"),
        ("blocks_per_sm?", F64, "", "Kineto's blocks per SM"),
        ("warps_per_sm?", F64, "", "Kineto's warps per SM"),
        ("est_occupancy_pct?", F64, "%", "Kineto's est. achieved occupancy; 0 or wrong on Hopper"),
        ("queued?", I64, "", "Kineto's queued field"),
        ("bytes?", I64, "bytes", "size of a copy or fill"),
        ("bandwidth_gb_s?", F64, "GB/s", "Kineto's memory bandwidth"),
        ("graph_id?", I64, "", "CUDA graph the activity was replayed from"),
        ("graph_node_id?", I64, "", "node in that graph"),
    ],
)

MEMORY_ARGS = _table(
    "memory_args",
    "Arguments of allocator events ([memory]).",
    [
        ("id", ID, "", "event"),
        ("address?", I64, "", "Addr"),
        ("bytes?", I64, "bytes", "allocated (positive) or freed (negative)"),
        ("total_allocated_bytes?", I64, "bytes", "allocated by tensors after the event"),
        ("total_reserved_bytes?", I64, "bytes", "reserved by the allocator after the event"),
        ("device_type?", I64, "", "c10 device type: 0 CPU, 1 CUDA"),
        ("device_index?", I64, "", "device index, -1 for the CPU"),
    ],
)

COLLECTIVE_ARGS = _table(
    "collective_args",
    "Arguments of collectives (record_param_comms and the kernels it started).",
    [
        ("id", ID, "", "event"),
        ("collective?", CAT, "", "Collective name"),
        ("dtype?", CAT, "", "dtype"),
        ("in_elements?", I64, "elements", "In msg nelems"),
        ("out_elements?", I64, "elements", "Out msg nelems"),
        ("in_split?", CAT, "", "In split size, text"),
        ("out_split?", CAT, "", "Out split size, text"),
        ("group_size?", I64, "ranks", "Group size"),
        ("group_name?", CAT, "", "Process Group Name"),
        ("group_description?", CAT, "", "Process Group Description"),
        ("group_ranks?", CAT, "", "Process Group Ranks, text"),
        ("rank_start?", I64, "", "Global rank start"),
        ("rank_stride?", I64, "", "Global rank stride"),
        ("sequence?", I64, "", "Seq: the collective's number within its group"),
    ],
)

FLOWS = _table(
    "flows",
    "Flow records (arrows between events).",
    [
        ("id", ID, "", "event"),
        ("flow_id?", I64, "", "the id that start and finish share"),
        ("binding?", CAT, "", "bp: e binds to the enclosing slice"),
    ],
)

EXTRA = _table(
    "extra",
    "What no column above holds, losslessly: members not modelled, or whose value did not fit.",
    [
        ("id", ID, "", "event"),
        ("event_json?", STR, "", "JSON object of the event's other members"),
        (
            "args_json?",
            STR,
            "",
            "JSON object of the other members of args (or its value if no object)",
        ),
    ],
)

LOSSES = _table(
    "losses",
    "What was damaged, lost or doubtful in a trace, one row a code and place.",
    [
        ("code", STR, "", "warning code"),
        ("count", I64, "", "how often"),
        ("offset?", I64, "bytes", "first place in the decompressed text"),
        ("event?", ID, "", "first event"),
        ("detail", STR, "", "plain words for a person, with a hint"),
    ],
)

RAW = (
    EVENTS, IDS, OP_ARGS, PYTHON_ARGS, DEVICE_ARGS, MEMORY_ARGS, COLLECTIVE_ARGS, FLOWS, EXTRA,
)  # fmt: skip
"""The tables that a reader fills."""

Kind = Literal["int", "float", "text", "json", "int3"]


@dataclass(frozen=True)
class ArgKey:
    """Where a member of ``args`` (or of the event itself) goes.

    ``kind``: ``int`` an integer, also as a string of digits; ``float`` a finite number; ``text`` a
    string, unescaped; ``json`` any value, its text kept as written; ``int3`` a list of three
    integers into three columns ``column + _x, _y, _z``. A value that does not fit stays in EXTRA.
    """

    key: str
    table: str
    column: str
    kind: Kind


def _keys(table: Table, rows: str) -> tuple[ArgKey, ...]:
    """``rows``: one ``key = column kind`` a line."""
    out = []
    for line in rows.strip().splitlines():
        key, _, rest = line.strip().partition(" = ")
        column, kind = rest.split()
        out.append(ArgKey(key, table.name, column, kind))  # type: ignore[arg-type]
    return tuple(out)


ARG_KEYS: tuple[ArgKey, ...] = (
    *_keys(
        IDS,
        """
        External id = external_id int
        external id = external_id int
        correlation = correlation int
        cbid = cbid int
        Ev Idx = ev_idx int
        """,
    ),
    *_keys(
        OP_ARGS,
        """
        Sequence number = sequence_number int
        Fwd thread id = fwd_thread int
        Record function id = record_function_id int
        Input Dims = input_dims json
        Input dims = input_dims json
        Input type = input_types json
        Input Strides = input_strides json
        Concrete Inputs = concrete_inputs json
        Call stack = call_stack text
        Module Hierarchy = module_hierarchy text
        """,
    ),
    *_keys(
        PYTHON_ARGS,
        """
        Python id = python_id int
        Python parent id = python_parent_id int
        Python module id = python_module_id int
        """,
    ),
    *_keys(
        DEVICE_ARGS,
        """
        device = device int
        context = context int
        stream = stream int
        grid = grid int3
        block = block int3
        registers per thread = registers int
        shared memory = shared_memory_bytes int
        blocks per SM = blocks_per_sm float
        warps per SM = warps_per_sm float
        est. achieved occupancy % = est_occupancy_pct float
        queued = queued int
        bytes = bytes int
        memory bandwidth (GB/s) = bandwidth_gb_s float
        graph id = graph_id int
        graph node id = graph_node_id int
        """,
    ),
    *_keys(
        MEMORY_ARGS,
        """
        Addr = address int
        Bytes = bytes int
        Total Allocated = total_allocated_bytes int
        Total Reserved = total_reserved_bytes int
        Device Type = device_type int
        Device Id = device_index int
        """,
    ),
    *_keys(
        COLLECTIVE_ARGS,
        """
        Collective name = collective text
        dtype = dtype text
        In msg nelems = in_elements int
        Out msg nelems = out_elements int
        In split size = in_split json
        Out split size = out_split json
        Group size = group_size int
        Process Group Name = group_name text
        Process Group Description = group_description text
        Process Group Ranks = group_ranks json
        Global rank start = rank_start int
        Global rank stride = rank_stride int
        Seq = sequence int
        """,
    ),
)
"""Members of ``args`` that have a column. Keys with two spellings share one."""

# --- What the tables stage makes ----------------------------------------------------------------

OPS = _table(
    "ops",
    "CPU ops and annotations, nested by time on their thread.",
    [
        ("id", ID, "", "event"),
        ("name", CAT, "", "op name"),
        ("kind", CAT, "", "cpu_op or annotation"),
        ("rank", I32, "", "which merged rank of this file, 0 when there is one"),
        ("thread", CAT, "", "process/thread as text"),
        ("ts_ns", I64, "ns", "start"),
        ("dur_ns?", I64, "ns", "duration as recorded; null when it is no measurement"),
        ("self_ns?", I64, "ns", "duration less that of direct children, never below 0"),
        ("parent?", ID, "", "enclosing op"),
        ("depth", I32, "", "0 for an outermost op"),
        ("step?", I64, "", "step it starts in"),
        ("external_id?", I64, "", "External id"),
        ("sequence_number?", I64, "", "autograd sequence number"),
        ("fwd_thread?", I64, "", "profiler thread number of the forward op; 0 for a forward op"),
        ("forward_id?", ID, "", "for a backward op, its forward op"),
        ("input_dims?", CAT, "", "JSON text"),
        ("input_types?", CAT, "", "JSON text"),
        ("input_strides?", CAT, "", "JSON text"),
        ("concrete_inputs?", CAT, "", "JSON text"),
        ("python_frame?", ID, "", "innermost Python frame around it"),
        ("module?", STR, "", "innermost nn.Module around it, outermost first, parted by '.'"),
        ("source?", STR, "", "innermost user source line around it, 'file.py(12): function'"),
        ("gpu_ns", I64, "ns", "device time of what it and the ops inside it launched"),
        ("self_gpu_ns", I64, "ns", "device time of what it launched itself"),
        ("gpu_events", I64, "", "device events it and the ops inside it launched"),
    ],
)

LAUNCHES = _table(
    "launches",
    "Runtime and driver calls, and the op that made them.",
    [
        ("id", ID, "", "event"),
        ("name", CAT, "", "call"),
        ("api", CAT, "", "runtime or driver"),
        ("kind", CAT, "", "kernel, graph, memcpy, memset, sync, alloc, free or other"),
        ("rank", I32, "", "merged rank"),
        ("thread", CAT, "", "process/thread as text"),
        ("ts_ns", I64, "ns", "start"),
        ("dur_ns?", I64, "ns", "duration"),
        ("correlation?", I64, "", "correlation id; null for 0, -1 and 2^32-1"),
        ("external_id?", I64, "", "External id"),
        ("op?", ID, "", "op that made the call"),
        ("op_evidence?", CAT, "", "time (contained on its thread) or external_id"),
        ("step?", I64, "", "step"),
        ("gpu_events", I64, "", "device events it started, as recorded"),
    ],
)

CLASSES = _table(
    "classes",
    "What a kernel name says; one row a distinct name.",
    [
        ("name", STR, "", "kernel name as written"),
        ("kind", CAT, "", "gemm, elementwise, attention_fwd, attention_bwd, copy, conv, norm …"),
        ("unit", CAT, "", "tensor_core, cuda_core, copy_engine or unknown"),
        ("compute_dtype?", CAT, "", "dtype the arithmetic runs in: bf16, fp16, tf32, fp32 …"),
        ("accumulate_dtype?", CAT, "", "accumulator dtype where the name says it"),
        ("library", CAT, "", "aten, cublas, cublasLt_nvjet, cudnn, inductor, nccl … or unknown"),
        ("built_for?", CAT, "", "architecture family in the name: volta, ampere, hopper, gfx942 …"),
        ("tile?", CAT, "", "tile MxN or MxNxK where the name says it"),
        ("stages?", I32, "", "pipeline stages"),
        ("layout?", CAT, "", "operand layouts, e.g. tn, nn"),
        ("alignment?", I32, "elements", "operand alignment the kernel was built for"),
        ("cast_from?", CAT, "", "source dtype of a cast; null when the name cannot tell"),
        ("cast_to?", CAT, "", "destination dtype of a cast"),
        (
            "is_cast?",
            BOOL,
            "",
            "true for a kernel that converts dtype, false for one that does not",
        ),
        ("fused_attention?", CAT, "", "forward or backward for a fused attention kernel"),
        ("head_dim?", I32, "", "head dim in the name of an attention kernel"),
        ("helper_of?", CAT, "", "kind of kernel it helps: split-K tail, combine, convert"),
        ("evidence", CAT, "", "what the answer rests on"),
    ],
)

_CLASS_COLUMNS = [
    (c.name + "?" if c.nullable else c.name, c.dtype, c.unit, c.meaning)
    for c in CLASSES.columns
    if c.name not in ("name", "evidence")
]

KERNELS = _table(
    "kernels",
    "Everything that ran on a device stream: kernels, copies, fills.",
    [
        ("id", ID, "", "event"),
        ("name", CAT, "", "name as recorded"),
        ("activity", CAT, "", "kernel, memcpy or memset"),
        ("rank", I32, "", "merged rank"),
        ("device?", I64, "", "device index"),
        ("stream?", I64, "", "stream; null where the producer has none"),
        ("ts_ns?", I64, "ns", "start; null when it is no measurement"),
        ("dur_ns?", I64, "ns", "duration; null when it is no measurement"),
        ("correlation?", I64, "", "correlation id; null for 0, -1 and 2^32-1"),
        ("external_id?", I64, "", "External id"),
        ("launch?", ID, "", "runtime or driver call that started it"),
        ("op?", ID, "", "innermost CPU op that launched it"),
        ("link_evidence?", CAT, "", "correlation, external_id, flow or time; null when unlinked"),
        ("step?", I64, "", "step of its launch"),
        ("queue_delay_ns?", I64, "ns", "from the start of its launch to its own start"),
        ("grid_x?", I64, "blocks", "grid dimension x"),
        ("grid_y?", I64, "blocks", "grid dimension y"),
        ("grid_z?", I64, "blocks", "grid dimension z"),
        ("block_x?", I64, "threads", "block dimension x"),
        ("block_y?", I64, "threads", "block dimension y"),
        ("block_z?", I64, "threads", "block dimension z"),
        ("registers?", I64, "registers/thread", "registers per thread"),
        ("shared_memory_bytes?", I64, "bytes", "shared memory a block"),
        ("est_occupancy_pct?", F64, "%", "Kineto's own field; 0 or wrong on Hopper"),
        ("bytes?", I64, "bytes", "size of a copy or fill"),
        ("graph_node_id?", I64, "", "CUDA graph node"),
        *_CLASS_COLUMNS,
        ("pageable?", BOOL, "", "a copy to or from pageable host memory"),
        ("theoretical_occupancy_pct?", F64, "%", "from registers, shared memory and block size"),
        ("occupancy_limiter?", CAT, "", "registers, shared_memory, block, warps"),
        ("class_evidence?", CAT, "", "what kind, unit and dtype rest on"),
    ],
)

LINKS = _table(
    "links",
    "Edges of the correlation graph.",
    [
        ("source", ID, "", "event the edge leaves"),
        ("target", ID, "", "event the edge enters"),
        ("relation", CAT, "", "encloses, calls, starts, backward, stream_order or waits"),
        ("evidence", CAT, "", "correlation, external_id, flow, sequence_number or time"),
    ],
)

STEPS = _table(
    "steps",
    "Profiler steps, or what stands for them.",
    [
        ("step", I64, "", "number in ProfilerStep#N, else a count from 0"),
        ("id", ID, "", "annotation event"),
        ("name", CAT, "", "annotation name"),
        ("rank", I32, "", "merged rank"),
        ("thread", CAT, "", "process/thread as text"),
        ("ts_ns", I64, "ns", "start"),
        ("dur_ns?", I64, "ns", "host duration"),
        ("gpu_ns", I64, "ns", "sum of device time launched in the step"),
        ("gpu_busy_ns", I64, "ns", "union of that time per device, summed over devices"),
        ("gpu_events", I64, "", "device events launched in the step"),
    ],
)

FRAMES = _table(
    "frames",
    "Python frames (with_stack), nested by time on their thread.",
    [
        ("id", ID, "", "event"),
        ("name", CAT, "", "file.py(12): function, or nn.Module: Name_0"),
        ("rank", I32, "", "merged rank"),
        ("thread", CAT, "", "process/thread as text"),
        ("ts_ns", I64, "ns", "start"),
        ("dur_ns?", I64, "ns", "duration"),
        ("parent?", ID, "", "enclosing frame"),
        ("depth", I32, "", "frames around it"),
    ],
)

MEMORY = _table(
    "memory",
    "Allocator events.",
    [
        ("id", ID, "", "event"),
        ("ts_ns", I64, "ns", "time"),
        ("thread", CAT, "", "process/thread as text"),
        ("device_type?", I64, "", "c10 device type: 0 CPU, 1 CUDA"),
        ("device_index?", I64, "", "device index"),
        ("address?", I64, "", "address"),
        ("bytes?", I64, "bytes", "allocated (positive) or freed (negative)"),
        ("total_allocated_bytes?", I64, "bytes", "allocated after the event"),
        ("total_reserved_bytes?", I64, "bytes", "reserved after the event"),
        ("op?", ID, "", "op it happened in"),
    ],
)

COLLECTIVES = _table(
    "collectives",
    "Collective calls and their device time.",
    [
        ("id", ID, "", "record_param_comms op, or the device event when there is none"),
        ("collective?", CAT, "", "allreduce, allgather …"),
        ("dtype?", CAT, "", "dtype"),
        ("in_elements?", I64, "elements", "elements in"),
        ("out_elements?", I64, "elements", "elements out"),
        ("group_name?", CAT, "", "process group"),
        ("group_size?", I64, "ranks", "ranks in the group"),
        ("sequence?", I64, "", "number within its group"),
        ("ts_ns", I64, "ns", "start on the host, or of the device event"),
        ("gpu_ns", I64, "ns", "device time of its kernels"),
        ("exposed_ns", I64, "ns", "device time not covered by other kernels of the device"),
        ("step?", I64, "", "step"),
    ],
)

ATTENTION = _table(
    "attention",
    "One row an attention call, whatever it is made of.",
    [
        ("call", I32, "", "number of the call in time order"),
        ("op?", ID, "", "op that stands for the call: the SDPA op, else the first matmul"),
        ("name", CAT, "", "name of that op; of the kernel where no op was recorded"),
        (
            "backend",
            CAT,
            "",
            "flash, efficient, cudnn, math, eager, compiled, flex, fused, unknown",
        ),
        ("direction", CAT, "", "forward or backward"),
        ("batch?", I64, "", "batch size"),
        ("heads?", I64, "", "query heads"),
        ("kv_heads?", I64, "", "key and value heads"),
        ("q_len?", I64, "", "query length"),
        ("kv_len?", I64, "", "key length"),
        ("head_dim?", I64, "", "head dim of q and k"),
        ("v_head_dim?", I64, "", "head dim of v"),
        ("dtype?", CAT, "", "dtype of q"),
        ("compute_dtype?", CAT, "", "dtype its matmuls run in"),
        ("unit?", CAT, "", "unit its matmuls run on"),
        ("causal?", BOOL, "", "is_causal, or a causal mask"),
        ("mask?", CAT, "", "none, causal, bool, float or scored"),
        ("mask_work", CAT, "", "none, rebuilt, converted, applied or unknown"),
        (
            "mask_ns",
            I64,
            "ns",
            "device time of making or converting the mask, in or before the call",
        ),
        ("cast_ns", I64, "ns", "device time of dtype casts"),
        ("cast_bytes?", I64, "bytes", "bytes read and written by casts, estimate from shapes"),
        ("copy_ns", I64, "ns", "device time of full copies, in or before the call"),
        ("copy_bytes?", I64, "bytes", "bytes read and written by copies inside the call"),
        ("kernels", I64, "", "device kernels inside the call"),
        ("copies", I64, "", "device copies inside the call"),
        ("fills", I64, "", "device memsets inside the call"),
        ("gpu_ns", I64, "ns", "device time of all events inside the call"),
        (
            "before_ns",
            I64,
            "ns",
            "device time of work done for it just before: mask, copies of q, k, v",
        ),
        ("cpu_ns?", I64, "ns", "host time in the call's ops"),
        ("launch_ns?", I64, "ns", "host time in the call's runtime and driver calls"),
        ("hbm_bytes?", I64, "bytes", "estimated HBM traffic of all events inside, from shapes"),
        ("occupancy_pct?", F64, "%", "theoretical occupancy of its longest kernel"),
        ("occupancy_limiter?", CAT, "", "what limits it"),
        ("rank", I32, "", "merged rank"),
        ("step?", I64, "", "step"),
        ("module?", STR, "", "nn.Module path"),
        ("source?", STR, "", "user source line, where a stack was recorded"),
    ],
)

ATTENTION_EVENTS = _table(
    "attention_events",
    "Device events of attention calls and the part each plays.",
    [
        ("call", I32, "", "attention call"),
        ("id", ID, "", "device event"),
        (
            "role",
            CAT,
            "",
            "matmul, softmax, scale, mask, mask_apply, cast, copy, fused, fill, other",
        ),
        ("place", CAT, "", "inside the call, or before it"),
    ],
)

PUBLIC = (
    OPS, LAUNCHES, KERNELS, LINKS, STEPS, FRAMES, MEMORY, COLLECTIVES, ATTENTION,
    ATTENTION_EVENTS,
)  # fmt: skip
"""The tables of a loaded trace."""
