"""``tracekit collect``: lazily the module ``collectors``, which needs torch."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tracekit.cli import output
from tracekit.errors import MissingExtraError


def command(
    what: str = "attention",
    *,
    variants: str = "all",
    shape: str = "8,16,1024,64",
    dtype: str = "bf16",
    device: str | None = None,
    out: Annotated[Path, Parameter(alias="-o")] = Path("traces"),
    causal: bool = True,
    backward: Annotated[bool, Parameter(negative="")] = False,
    stacks: Annotated[bool, Parameter(negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
    then: str | None = None,
) -> int:
    """Run attention variants, or a workload of your own, and save traces with a manifest.

    Examples: tracekit collect attention --out traces/ --then compare;
    tracekit collect mymodule:make_step --out traces/

    Parameters
    ----------
    what:
        attention, pairs, or module:function of a workload.
    variants:
        Names of variants, parted by commas, or all.
    shape:
        Batch, heads, sequence, head dim.
    dtype:
        bf16, fp16 or fp32.
    device:
        cuda or cpu; by default cuda where there is one.
    out:
        Folder for traces and manifest.json.
    causal:
        Use a causal mask.
    backward:
        Run the backward as well.
    stacks:
        Record Python stacks.
    force:
        Overwrite traces that exist.
    then:
        compare: print the backend table of the result.
    """
    try:
        importlib.import_module("torch")
    except ImportError:
        raise MissingExtraError("collecting traces", extra="collect") from None
    run = importlib.import_module("collectors.cli").collect
    manifest = run(
        what, variants=variants, shape=shape, dtype=dtype, device=device, out=out, causal=causal,
        backward=backward, stacks=stacks, force=force,
    )  # fmt: skip
    output.emit(f"{manifest}\n", None)
    if then == "compare":
        from tracekit.cli.compare import command as compare

        return compare(str(out))
    return 0
