"""The data sheet and its matching to names as traces print them."""

from __future__ import annotations

import pytest

from tracekit.errors import OptionError
from tracekit.kernels.devices import find_device, known_devices

H200 = {
    "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "computeMajor": 9,
    "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 132,
    "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448,
    "sharedMemPerMultiprocessor": 233472,
}  # fmt: skip
MI300 = {
    "id": 0, "name": "AMD Instinct MI300X VF", "totalGlobalMem": 205571227648, "computeMajor": 9,
    "computeMinor": 4, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536, "warpSize": 64, "sharedMemPerBlock": 65536, "numSms": 304,
    "maxSharedMemoryPerMultiProcessor": 65536,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM5 80GB"),
        ("NVIDIA H100 PCIe", "H100 PCIe 80GB"),
        ("NVIDIA H100 NVL", "H100 NVL 94GB"),
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA H200 NVL", "H200 NVL"),
        ("NVIDIA GH200 480GB", "GH200 96GB"),
        ("NVIDIA GH200 144G HBM3e", "GH200 144GB"),
        ("Tesla V100-SXM2-16GB", "V100 SXM2 16GB"),
        ("Tesla V100-SXM2-32GB", "V100 SXM2 32GB"),
        ("Tesla V100-PCIE-16GB", "V100 PCIe"),
        ("Tesla V100-PCIE-32GB", "V100 PCIe 32GB"),
        ("NVIDIA A100-SXM4-40GB", "A100 SXM4 40GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"),
        ("A100-PCIE-40GB", "A100 PCIe 40GB"),
        ("NVIDIA A100-PG509-200", "A100 SXM4 40GB"),
        ("Tesla T4", "T4"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA A40", "A40"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA GB200", "GB200"),
        ("AMD Instinct MI210", "MI210"),
        ("AMD Instinct MI250X", "MI250X (one GCD)"),
        ("AMD Instinct MI300X VF", "MI300X"),
        ("AMD Instinct MI325X", "MI325X"),
        ("AMD Instinct MI355X", "MI355X"),
    ],
)
def test_names_as_traces_print_them(name: str, part: str) -> None:
    device = find_device(name)
    assert device is not None
    assert device.part == part


@pytest.mark.parametrize(
    "name",
    ["", "NVIDIA A10G", "NVIDIA L40", "NVIDIA GeForce RTX 3090 Ti", "AMD Radeon Graphics",
     "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H20", "NVIDIA A1000"],
)  # fmt: skip
def test_another_part_is_not_taken_for_a_known_one(name: str) -> None:
    assert find_device(name) is None


def test_sheet_is_complete_and_plausible() -> None:
    for device in known_devices():
        assert device.sources, device.name
        assert all("http" in s or "," in s for s in device.sources)
        assert device.sms is not None
        assert device.hbm_gb_s is not None
        assert device.hbm_gb is not None
        assert device.peaks
        fp32 = device.peak_tflops("cuda_core", "fp32")
        assert fp32 is not None
        if device.architecture in ("cdna2", "cdna3", "cdna4") or device.clock_mhz is None:
            continue
        # Two operations a clock on each fp32 lane: 64 lanes an SM on 7.x and 8.0, else 128.
        lanes = 64 if device.compute_capability in ("7.0", "7.5", "8.0") else 128
        expected = 2 * lanes * device.sms * device.clock_mhz * 1e6 / 1e12
        assert fp32 == pytest.approx(expected, rel=0.02), device.name


@pytest.mark.parametrize(("slow", "fast"), [("tf32", "bf16"), ("bf16", "fp8"), ("fp8", "fp4")])
def test_half_the_bits_twice_the_rate(slow: str, fast: str) -> None:
    for device in known_devices():
        a, b = (device.peak_tflops("tensor_core", d) for d in (slow, fast))
        # GB202 runs fp4 at four times the fp8 rate with fp32 accumulation.
        if a and b and device.name != "RTX 5090":
            assert 1.9 < b / a < 2.1, device.name


def test_properties_win_and_agree_with_the_sheet() -> None:
    device = find_device("NVIDIA H200", H200)
    alone = find_device("NVIDIA H200")
    assert device == alone
    assert device is not None
    assert device.max_warps_per_sm == 64
    assert device.shared_memory_per_sm_bytes == 233472


def test_rocm_compute_major_9_is_no_hopper() -> None:
    device = find_device("AMD Instinct MI300X VF", MI300)
    assert device is not None
    assert device.compute_capability == "gfx942"
    assert (device.warp_size, device.max_blocks_per_sm, device.sms) == (64, None, 304)
    nameless = find_device("", MI300)
    assert nameless is not None
    assert nameless.compute_capability is None
    assert nameless.peaks is None


def test_unknown_device_from_properties_alone() -> None:
    device = find_device("NVIDIA Q9000", {**H200, "numSms": 20})
    assert device is not None
    assert device.peaks is None
    assert device.hbm_gb_s is None
    assert device.part is None
    assert (device.sms, device.compute_capability, device.architecture) == (20, "9.0", "hopper")
    assert device.hbm_gb == pytest.approx(139.8, abs=0.1)


def test_mig_slice_scales_peaks_and_forgets_bandwidth() -> None:
    slice_ = find_device(
        "NVIDIA H200 MIG 1g.18gb", {**H200, "numSms": 16, "totalGlobalMem": 17 * 1024**3}
    )
    whole = find_device("NVIDIA H200")
    assert slice_ is not None
    assert whole is not None
    assert slice_.peaks is not None
    assert whole.peaks is not None
    key = ("tensor_core", "bf16")
    assert slice_.peaks[key] == pytest.approx(whole.peaks[key] * 16 / 132)
    assert slice_.hbm_gb_s is None
    assert slice_.l2_mb is None
    assert slice_.hbm_gb == pytest.approx(17)


def test_other_memory_size_means_other_bandwidth() -> None:
    device = find_device("NVIDIA H100", {**H200, "totalGlobalMem": 64 * 1024**3})
    assert device is not None
    assert device.hbm_gb_s is None
    assert device.peak_tflops("tensor_core", "fp8_e4m3") == 1978.9


def test_untrusted_properties_are_ignored_when_absurd() -> None:
    device = find_device("NVIDIA H200", {"numSms": -1, "warpSize": "32", "totalGlobalMem": True})
    assert device == find_device("NVIDIA H200")


def test_overrides_add_and_correct() -> None:
    mine = {"H200": {"hbm_gb_s": 4700, "peaks": {"tensor_core": {"bf16": 900}}}}
    device = find_device("NVIDIA H200", H200, mine)
    assert device is not None
    assert device.hbm_gb_s == 4700
    assert device.peak_tflops("tensor_core", "bf16") == 900
    assert device.peak_tflops("tensor_core", "fp16") == 989.5
    new = find_device("ACME X1", None, {"acme x1": {"compute_capability": "8.9", "sms": 10}})
    assert new is not None
    assert (new.max_blocks_per_sm, new.sms, new.architecture) == (24, 10, "ada")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"hbm": 1}, "no field 'hbm'"),
        ({"sms": "many"}, "sms must be a positive number"),
        ({"hbm_gb_s": -1}, "hbm_gb_s must be a positive number"),
        ({"architecture": 9}, "architecture must be text"),
        ({"peaks": {"bf16": 1}}, "peaks must be a table of units"),
        ({"peaks": {"tensor_core": {"bf16": "fast"}}}, "peak tensor_core.bf16"),
    ],
)
def test_bad_overrides_say_what_is_wrong(values: dict[str, object], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        find_device("NVIDIA H200", None, {"H200": values})
