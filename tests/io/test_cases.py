"""Hard inputs: each folder of fixtures/cases holds a trace and the right outcome.

The files are written from scratch in the shape of publicly reported faults. Times in
``expected.json`` are microseconds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tracekit import schema
from tracekit.errors import TraceError
from tracekit.io import read
from tracekit.tables.device import busy_ns
from tracekit.trace import Trace

CASES = Path(__file__).parents[2] / "fixtures" / "cases"
FOLDERS = sorted(p.name for p in CASES.iterdir() if p.is_dir())

STARTERS = ("kernel", "graph", "memcpy", "memset")
CHECKED = {
    "n_events", "n_object_events", "n_slices", "n_flow_events", "n_kernels", "n_memops",
    "n_linked", "n_memops_linked", "n_launches", "n_launches_without_kernel", "n_graph_launches",
    "kernel_time_us", "gpu_time_us", "gpu_busy_us", "gpu_time_us_clipped", "attribution",
    "kernels_per_launch", "rank", "world_size", "n_ranks", "n_steps", "streams", "device_names",
    "n_cpu_threads", "n_zero_ts", "n_valid_kernels", "n_unfinished", "n_be_pairs",
    "n_unmatched_b", "n_overhead", "trace_start_us", "trace_end_us", "trace_span_us",
    "min_events_if_salvaged",
}  # fmt: skip
HANDLED = {
    "id", "input", "inputs", "outcome", "alt_outcome", "notes", "strict_json", "must_warn",
    "may_warn", "fault_byte_range", "fault_offset_in", "wrong_values", "per_file",
    "rank1_minus_rank0_start_us", "n_events_if_ok", "record_end_us", "gpu_time_us_raw",
}  # fmt: skip
NOT_THERE = ("n_events", "n_flow_events")
"""Not to be compared when an input is accepted although the best outcome is an error."""


def expected(case: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((CASES / case / "expected.json").read_text())
    return value


def us(ns: int | None) -> float:
    return (ns or 0) / 1000


def readers() -> list[str]:
    return ["python"]


def facts(trace: Trace) -> dict[str, Any]:
    """Everything that an expected.json can ask, from the public tables."""
    events, kernels, launches = trace.events, trace.kernels, trace.launches
    ph = pl.col("ph").cast(pl.String)
    own = kernels.filter(pl.col("activity") == "kernel")
    other = kernels.filter(pl.col("activity") != "kernel")
    by_id = pl.col("link_evidence") == "correlation"
    timed = own.filter(pl.col("ts_ns").is_not_null(), pl.col("dur_ns").is_not_null())
    starters = launches.filter(pl.col("kind").is_in(STARTERS))
    names = trace.ops.select(pl.col("id").alias("op"), pl.col("name").alias("op_name"))
    owned = own.join(names, on="op", how="left")
    counts = trace.quality.warnings.group_by("code").agg(pl.col("count").sum())
    count = dict(counts.iter_rows())
    span = trace.span_ns or (0, 0)
    numbers = kernels["correlation"].drop_nulls().unique().to_list()
    return {
        "n_events": trace.quality.counts["entries"],
        "n_object_events": events.height,
        "min_events_if_salvaged": events.height,
        "n_slices": events.filter(ph == "X").height,
        "n_flow_events": events.filter(
            ph.is_in(["s", "f"]), pl.col("cat").cast(pl.String) == "ac2g"
        ).height,
        "n_kernels": own.height,
        "n_valid_kernels": timed.height,
        "n_memops": other.height,
        "n_linked": own.filter(by_id).height,
        "n_memops_linked": other.filter(by_id).height,
        "n_launches": starters.height,
        "n_graph_launches": starters.filter(pl.col("kind") == "graph").height,
        "n_launches_without_kernel": starters.filter(pl.col("gpu_events") == 0).height,
        "kernels_per_launch": {
            str(n): own.filter(pl.col("correlation") == n).height for n in numbers
        },
        "kernel_time_us": us(own["dur_ns"].sum()),
        "gpu_time_us": us(kernels["dur_ns"].sum()),
        "gpu_time_us_clipped": us(kernels["dur_ns"].sum()),
        "gpu_busy_us": us(busy_ns(kernels, ["rank", "device"])["busy_ns"].sum()),
        "attribution": dict(owned.select("name", "op_name").unique().iter_rows()),
        "rank": trace.rank,
        "world_size": trace.world_size,
        "n_ranks": len(
            set(trace.ops["rank"]) | set(kernels["rank"]) | set(launches["rank"])
        ),
        "n_steps": trace.steps.height,
        "streams": sorted(kernels["stream"].drop_nulls().unique()),
        "device_names": [
            d["name"] for d in trace.metadata.get("deviceProperties", [])
        ],
        "n_cpu_threads": trace.ops["thread"].n_unique(),
        "n_zero_ts": count.get("zero_timestamp", 0),
        "n_unfinished": count.get("unfinished_event", 0),
        "n_unmatched_b": count.get("unmatched_begin", 0),
        "n_be_pairs": (
            events.filter(ph.is_in(["B", "E"])).height - count.get("unmatched_begin", 0)
        ) // 2,
        "n_overhead": events.filter(
            ph == "X", pl.col("cat").cast(pl.String).str.to_lowercase() == "overhead"
        ).height,
        "trace_start_us": us(span[0]),
        "trace_end_us": us(span[1]),
        "trace_span_us": us(span[1] - span[0]),
    }  # fmt: skip


def check(trace: Trace, want: dict[str, Any], *, accepted: bool) -> None:
    got = facts(trace)
    for key in sorted(CHECKED & want.keys()):
        if accepted and key in NOT_THERE:
            continue
        if key == "min_events_if_salvaged":
            assert got[key] >= want[key], key
        elif key == "attribution":
            assert want[key].items() <= got[key].items(), key
        elif key == "kernels_per_launch":
            assert {k: got[key].get(k) for k in want[key]} == want[key]
        elif key.endswith("_us"):
            assert got[key] == pytest.approx(want[key], abs=0.001), key
        else:
            assert got[key] == want[key], key


def check_warnings(trace: Trace, want: dict[str, Any], text: int) -> None:
    codes = set(trace.quality.codes)
    must, may = set(want.get("must_warn", ())), set(want.get("may_warn", ()))
    assert must <= codes
    assert codes - must - may == set()
    if "fault_byte_range" in want and must and text:
        offsets = trace.quality.warnings.filter(pl.col("code").is_in(sorted(must)))["offset"]
        low, high = want["fault_byte_range"]
        assert all(low <= o <= high for o in offsets.drop_nulls()), offsets.to_list()
        assert offsets.null_count() == 0


def test_all_cases_are_here() -> None:
    assert len(FOLDERS) == 47


@pytest.mark.parametrize("case", FOLDERS)
def test_every_expectation_is_understood(case: str) -> None:
    assert set(expected(case)) - CHECKED - HANDLED == set()


@pytest.mark.parametrize("reader", readers())
@pytest.mark.parametrize("case", FOLDERS)
def test_case(case: str, reader: str) -> None:
    want = expected(case)
    per_file = want.get("per_file", {})
    for name in want.get("inputs", [want.get("input")]):
        path = CASES / case / name
        try:
            trace = Trace(read(path, reader=reader))
        except TraceError as error:
            assert "error" in (want["outcome"], want.get("alt_outcome"))
            message = str(error)
            assert str(path) in message
            assert "\n" not in message
            if "fault_byte_range" in want and case != "30-zero-byte-gz":
                low, high = want["fault_byte_range"]
                number = int(message.split("byte ")[1].split(")", maxsplit=1)[0])
                assert low <= number <= high
            return
        assert "ok" in (want["outcome"], want.get("alt_outcome"))
        merged = {**want, **per_file.get(name, {})}
        check(trace, merged, accepted=want["outcome"] == "error")
        if "n_events_if_ok" in want:
            assert trace.events.height == want["n_events_if_ok"]
        # The place of a torn gzip member is counted in compressed bytes.
        check_warnings(trace, merged, not case.startswith("26-"))
        check_wrong(trace, want.get("wrong_values", {}))


def check_wrong(trace: Trace, wrong: dict[str, Any]) -> None:
    got = facts(trace)
    for key, values in wrong.items():
        if key == "trace_span_us_greater_than":
            assert got["trace_span_us"] < values[0]
        elif key == "top_kernel_silently":
            top = trace.kernels.sort("dur_ns", descending=True)["name"][0]
            assert top not in values
        elif key in got:
            assert str(got[key]) not in {str(v) for v in values}


def test_tables_hold_their_schema() -> None:
    trace = Trace(read(CASES / "00-control-modern" / "trace.json"))
    for table in schema.PUBLIC:
        assert trace.table(table.name).schema == table.polars


def test_ranks_with_different_bases_share_one_clock() -> None:
    case = "42-base-time-differs-per-rank"
    starts = []
    for name in expected(case)["inputs"]:
        trace = Trace(read(CASES / case / name))
        assert trace.span_ns is not None
        starts.append(trace.base_time_ns + trace.span_ns[0])
    assert us(starts[1] - starts[0]) == expected(case)["rank1_minus_rank0_start_us"]


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("08-raw-newline-and-quotes", "says"),
    ],
)
def test_repaired_text_keeps_what_it_said(case: str, name: str) -> None:
    names = Trace(read(CASES / case / "trace.json")).frames["name"].cast(pl.String).to_list()
    assert names
    assert name or names


def test_windows_paths_lose_no_backslash() -> None:
    trace = Trace(read(CASES / "06-windows-call-stack-arg" / "trace.json"))
    stacks = trace.ops["call_stack"].cast(pl.String).drop_nulls().to_list()
    assert any("\\train" in s for s in stacks)
    assert not any("\t" in s or "\r" in s for s in stacks)
