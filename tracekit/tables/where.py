"""Where in the user's program an op ran: nn.Module path and source line, from Python frames."""

from __future__ import annotations

import re
import sys

import polars as pl

from tracekit.tables import activity as act
from tracekit.tables.host import nearest, nested

_LIBRARIES = frozenset(
    ["torch", "torchvision", "torchaudio", "torch_xla", "functorch", "triton", "transformers", "accelerate", "diffusers", "peft", "trl", "datasets", "huggingface_hub", "safetensors", "tokenizers", "vllm", "sglang", "flashinfer", "flash_attn", "xformers", "apex", "deepspeed", "megatron", "transformer_engine", "lightning", "pytorch_lightning", "lightning_fabric", "timm", "torchtitan", "torchao", "bitsandbytes", "numpy", "pandas", "scipy", "sklearn", "einops", "jax", "jaxlib", "flax", "optax", "tensorflow", "tqdm", "ray", "fsspec", "pydantic", "networkx", "sympy", "IPython", "ipykernel", "tracekit", "collectors", "site-packages", "dist-packages"]
)
_STDLIB = frozenset(sys.stdlib_module_names)
_FRAME = re.compile(r"^(?P<path>[^<].*?)\((?P<line>\d+)\): (?P<function>.*)$", re.DOTALL)
_MODULE = "nn.Module: "


def is_user_frame(name: str) -> bool:
    """Whether a frame belongs to the user's own code, not to a library or the interpreter.

    The profiler trims the path up to site-packages, so a library shows by its first folder.

    >>> [is_user_frame(n) for n in ("train.py(12): step", "torch/_ops.py(1): __call__")]
    [True, False]
    >>> [is_user_frame(n) for n in ("threading.py(1030): run", "<built-in method mm>")]
    [False, False]
    """
    found = _FRAME.match(name)
    if found is None:
        return False
    parts = re.split(r"[\\/]+", found["path"])
    if any(p in ("site-packages", "dist-packages") for p in parts):
        return False
    first = next((p for p in parts if p), "")
    stem = first.removesuffix(".py")
    if found["path"].startswith(("/", "\\")) or re.match(r"^[A-Za-z]:", found["path"]):
        return not re.search(r"[\\/]lib[\\/]python\d", found["path"])
    return stem not in _LIBRARIES and stem not in _STDLIB


def places(slices: pl.DataFrame, op_frame: pl.DataFrame) -> pl.DataFrame:
    """``id``, ``python_frame``, ``module`` and ``source`` of each op that has any of them."""
    recorded = _from_frames(slices, op_frame)
    legacy = _from_legacy_args(op_frame)
    return pl.concat([recorded, legacy.join(recorded, on="id", how="anti")])


def _from_frames(slices: pl.DataFrame, op_frame: pl.DataFrame) -> pl.DataFrame:
    both = nested(slices, (*act.HOST_RANGES, act.PYTHON))
    frames = both.filter(pl.col("activity") == act.PYTHON)
    hosts = nearest(
        both.filter(pl.col("activity").is_in(act.HOST_RANGES)), frames["id"],
        parents=both.select("id", "parent"),
    )  # fmt: skip
    table = _walk(frames, both.select("id", "parent"))
    return (
        op_frame.select("id")
        .join(hosts, on="id")
        .join(table, left_on="ancestor", right_on="id")
        .select("id", pl.col("ancestor").alias("python_frame"), "module", "source")
    )


def _walk(frames: pl.DataFrame, parents: pl.DataFrame) -> pl.DataFrame:
    """Module path and user source line of every frame: its own, else inherited from its caller."""
    caller = nearest(frames, frames["id"], parents=parents).rename({"ancestor": "caller"})
    names = frames["name"].cast(pl.String).unique().drop_nulls().to_list()
    lines = {n: n for n in names if is_user_frame(n)}
    modules = {n: n[len(_MODULE) :] for n in names if n.startswith(_MODULE)}
    known: dict[int, tuple[str | None, str | None]] = {}
    rows = frames.join(caller, on="id", how="left").sort("depth").select("id", "caller", "name")
    # A caller is less deep than what it calls, so it has been seen.
    for id_, above, name in rows.iter_rows():
        module, source = known.get(above, (None, None))
        own = modules.get(name)
        if own is not None:
            module = f"{module}.{own}" if module else own
        known[id_] = (module, lines.get(name, source))
    return pl.DataFrame(
        {
            "id": pl.Series(list(known), dtype=pl.UInt32),
            "module": pl.Series([m for m, _ in known.values()], dtype=pl.String),
            "source": pl.Series([s for _, s in known.values()], dtype=pl.String),
        }
    )


def _from_legacy_args(op_frame: pl.DataFrame) -> pl.DataFrame:
    """The same from the ``Call stack`` and ``Module Hierarchy`` args (Kineto before 2.0)."""
    stacks = op_frame["call_stack"].cast(pl.String).unique().drop_nulls().to_list()
    lines = {
        stack: next((f for f in stack.split(";") if is_user_frame(f)), None) for stack in stacks
    }
    hierarchy = pl.col("module_hierarchy").cast(pl.String)
    return op_frame.select(
        "id",
        pl.lit(None, pl.UInt32).alias("python_frame"),
        pl.when(hierarchy != "").then(hierarchy).alias("module"),
        pl.col("call_stack")
        .cast(pl.String)
        .replace_strict(lines, default=None, return_dtype=pl.String)
        .alias("source"),
    ).filter(pl.col("module").is_not_null() | pl.col("source").is_not_null())
