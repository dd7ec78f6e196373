"""Fused attention: cuDNN, FlashAttention 1 to 4, memory-efficient, FlashInfer, FlashMLA, TRT-LLM …"""

from __future__ import annotations

import re

from tracekit.kernels.dtypes import SHORT, find_type
from tracekit.kernels.model import CUDA_CORE, TENSOR_CORE, UNKNOWN, KernelClass
from tracekit.kernels.normalise import Name

_HELPERS = re.compile(
    r"[cC]ombine|dot_do_o|convert_dq|convert_dkv|prepare_varlen|compute_dot|_odo_|merge_?states?|"
    r"MergeState|PersistentVariableLengthMerge|bwd_preprocess|bwd_postprocess|BwdPreprocess|BwdPostprocess|"
    r"BwdConvert|clear_dkvaccum|splitkreduce|fmha\w*Reduction|VariableLengthMergeStates|reduce_attention|_dq_convert|"
    r"get_mla_metadata|sparse_attn_indexer|fmha_bwd_convert|post_process|ll4mi_reduce"
)
_NOT = re.compile(
    r"(?i)rope|rotary|kv_?cache_?(?:store|insert|scatter|append|update|copy)|reshape_and_cache|append_paged|topk_?gating|"
    r"quant_kernel|_quantize|_norm_|prenorm|indexer_logits|causal_conv|gather_cache|cp_gather|concat_mla|"
    r"apply_?rotary|score_grad|gla_|gated_delta"
)
_CUDNN = re.compile(r"sdpa_sm(\d+)_flash_(fprop|bprop)_?(wmma|wgmma|mma)?_?(f16|bf16|f8|e4m3)?")
_FMHA = re.compile(
    r"fmha_cutlass([FB])_(f16|bf16|f32)_(?:aligned|notaligned)_(\d+)x(\d+)(?:_k(\d+))?\w*?_sm(\d+)"
)
_HDIM = re.compile(r"(?i)(?:hd|hdim|head_?dim|_h|d)(\d{2,3})(?=[_x]|$)")
_TRAITS = re.compile(r"traits\w*<(\d+),")
_TRT = re.compile(
    r"fmhaSm(\d+)\w*Kernel_(?:Qkv|Q)([A-Z][A-Za-z0-9]*?)(?:Kv\w+?)?O([A-Z][a-z0-9]+|E\w\w\w)H(\d+)?"
)
_ARCH = {"50": "maxwell", "70": "volta", "75": "turing", "80": "ampere", "86": "ampere", "89": "ada",
         "90": "hopper", "100": "blackwell", "103": "blackwell", "120": "blackwell"}  # fmt: skip


def fused(name: Name) -> KernelClass | None:
    """Kernels that do softmax(QK)V in one piece, their backward, and their helpers."""
    text, raw = name.text, name.raw
    return _cudnn(text) or _memory_efficient(text) or _trtllm(raw) or _named(name)


def _cudnn(text: str) -> KernelClass | None:
    if "compute_dot_do_o" in text or ("cudnn" in text and "convert_dq" in text):
        return KernelClass(
            "attention_bwd", CUDA_CORE, library="cudnn", fused_attention="backward",
            helper_of="attention_bwd", evidence="helper of cuDNN's fused backward",
        )  # fmt: skip
    found = _CUDNN.search(text)
    if not found:
        return None
    backward = found[2] == "bprop"
    tile = re.search(r"knob_\d+_(\d+x\d+x(\d+))", text)
    # f16 stands for any 16-bit type: bf16 runs carry it as well.
    dtype = "fp8_e4m3" if found[4] in ("f8", "e4m3") else None
    return KernelClass(
        "attention_bwd" if backward else "attention_fwd",
        TENSOR_CORE,
        compute_dtype=dtype,
        library="cudnn",
        built_for=_ARCH.get(found[1]),
        tile=tile[1] if tile else None,
        fused_attention="backward" if backward else "forward",
        head_dim=int(tile[2]) if tile and int(tile[2]) in (64, 128, 256) else None,
        evidence="cuDNN SDPA engine; f16 means any 16-bit type",
    )


def _memory_efficient(text: str) -> KernelClass | None:
    found = _FMHA.search(text)
    if not found:
        return None
    sm = int(found[6])
    single = found[2] == "f32"
    core = sm >= 80 if single else sm >= 70
    return KernelClass(
        "attention_fwd" if found[1] == "F" else "attention_bwd",
        TENSOR_CORE if core else CUDA_CORE,
        # OpMultiplyAddFastF32: three TF32 products stand for one in fp32.
        compute_dtype=("tf32" if core else "fp32") if single else SHORT[found[2]],
        accumulate_dtype="fp32",
        library="mem_efficient",
        built_for=_ARCH.get(found[6]),
        tile=f"{found[3]}x{found[4]}",
        fused_attention="forward" if found[1] == "F" else "backward",
        head_dim=int(found[5]) if found[5] else None,
        evidence="memory-efficient attention; f32 from sm80 on is 3xTF32 on tensor cores"
        if single and core
        else "memory-efficient attention",
    )


def _trtllm(raw: str) -> KernelClass | None:
    found = _TRT.search(raw)
    if found:
        word = found[2]
        dtype = {"E4m3": "fp8_e4m3", "Bfloat16": "bf16", "Fp16": "fp16", "E2m1": "fp4_e2m1"}.get(
            word
        )
        return KernelClass(
            "attention_fwd", TENSOR_CORE, compute_dtype=dtype, library="trtllm_gen",
            built_for=_ARCH.get(found[1]), fused_attention="forward",
            head_dim=int(found[4]) if found[4] else None, evidence="trtllm-gen FMHA name",
        )  # fmt: skip
    found2 = re.search(r"fmha_v2_flash_attention_(bf16|fp16|e4m3)\w*?_sm(\d+)", raw)
    if found2:
        return KernelClass(
            "attention_fwd", TENSOR_CORE, compute_dtype=SHORT[found2[1]], library="trtllm",
            built_for=_ARCH.get(found2[2]), fused_attention="forward", evidence="TensorRT-LLM FMHA",
        )  # fmt: skip
    return None


_LIBRARIES = (
    (
        "flash_attn",
        r"pytorch_flash|flash::|FlashAttn|flash_fwd|flash_bwd|flash_attncute|fmha_[fb]prop|flash_attn",
    ),
    ("flashmla", r"(?i)flash_?mla|splitkv_mla"),
    (
        "flashinfer",
        r"flashinfer|BatchPrefill|BatchDecode|SinglePrefill|SingleDecode|BatchMLA|MergeState",
    ),
    ("vllm", r"vllm::|paged_attention_(?:v[12]|ll4mi)|unified_attention"),
    ("aiter", r"aiter|^fmha_(?:fwd|bwd)_hd|^_?pa_|^mla_a\d"),
    ("inductor", r"triton_tem_|triton_per_fused\w*flex"),
    ("cutlass", r"cutlass"),
)
_FORWARD = re.compile(
    r"flash::prepare_varlen|sparse_attn_prefill|_attn_prefill|flash_fwd|FlashAttnFwd|FlashAttentionForward|flash_attn_fwd|flash_?attention_?(?:fwd|forward)|fmha_fprop|fmha_fwd|fmha_forward|"
    r"BatchPrefill|SinglePrefill|BatchDecode|SingleDecode|BatchMLA|BatchAttention|PersistentAttention|BatchPOD|paged_attention|paged_attn|"
    r"(?:^|_|:)_?attn_fwd|attn_fwd|attention_fwd|attention_forward|flex_attention(?!_backward)|flex_decoding|"
    r"Sm100FmhaFwd|FmhaFwd|Fmha(?:Kernel|Mainloop)|splitkv_mla|sparse_attn_fwd|sparse_fwd|mla_decode|decode_mla|mla_a\d+w\d|"
    r"(?:^|:)_?pa_(?:a\d|bf16|fp16|kernel|fp8|ragged|decode|noquant)|unified_attention|qk_int8?_sv|sage\w*attn|"
    r"_fwd_(?:grouped_)?kernel_stage[12]|kernel_unified_attention|^_fwd_kernel$|context_attention_fwd|"
    r"MergeState|MergeStates|lean_atten|mha_fwd|masked_multihead_attention|mmha|FwdCombine|dqkv?_decode|_attn_decode|attn_kernel|"
    r"qkv_attention|attention_kernel|mha_varlen_fwd|FlashAttention\w*Combine|flash_mla"
)
_BACKWARD = re.compile(
    r"flash_bwd|FlashAttnBwd|FlashAttentionBackward|fmha_dgrad|fmha_bwd|fmha_backward|attn_bwd|attention_bwd|attention_backward|"
    r"_bwd_kernel_d(?:k|q|kdv)|FmhaBwd|dot_do_o|flash_attn_bwd|mha_bwd|bwd_preprocess"
)


def _named(name: Name) -> KernelClass | None:
    text = name.raw if name.raw.startswith("_Z") else name.text
    if _NOT.search(name.func) or _NOT.search(name.path):
        return None
    backward = _BACKWARD.search(text)
    forward = None if backward else _FORWARD.search(text)
    if not backward and not forward:
        return None
    library = next((lib for lib, pattern in _LIBRARIES if re.search(pattern, text)), None)
    if library is None:
        library = "triton" if re.fullmatch(r"_?[a-z0-9_]+", name.func) else UNKNOWN
    helper = _HELPERS.search(text) is not None
    kind = "attention_bwd" if backward else "attention_fwd"
    unit, why = _unit(name, text, library, helper)
    dtype = _dtype(name, library)
    hdim = _TRAITS.search(text) or _HDIM.search(name.func)
    return KernelClass(
        kind,
        unit,
        compute_dtype=dtype,
        library=library,
        built_for=_arch(text),
        fused_attention="backward" if backward else "forward",
        head_dim=int(hdim[1]) if hdim else None,
        helper_of=kind if helper else None,
        is_cast=True if re.search(r"convert_dq|dq_convert", text) else None,
        evidence=why,
    )


def _unit(name: Name, text: str, library: str, helper: bool) -> tuple[str, str]:
    if helper:
        return CUDA_CORE, "helper of a fused attention kernel: no matrix product"
    if "wo_dot" in text or re.search(r"paged_attention_v[12]", text):
        return CUDA_CORE, "paged decode without matrix instructions"
    if re.search(r"(?:Batch|Single)Decode", text):
        return CUDA_CORE, "FlashInfer decode runs on CUDA cores"
    if library in ("triton", "inductor", UNKNOWN) or re.search(
        r"kernel_unified_attention|^_fwd_(?:grouped_)?kernel", name.func
    ):
        if re.search(r"mfma|wmma|wgmma", text):
            return TENSOR_CORE, "matrix instruction in the name"
        return UNKNOWN, "a Triton name does not say the unit"
    return TENSOR_CORE, "fused attention with tensor-core products"


def _dtype(name: Name, library: str) -> str | None:
    head = name.func
    tag = re.search(r"_(bf16|fp16|f16|fp8|int8|e4m3)(?:_|$|gemm)", head)
    if library == "aiter":
        kept = re.search(r"_(i8|f8|fp8)(?:_|$)", head)
        if kept and head.startswith(("pa_", "_pa_")):
            return SHORT[kept[1]]
        bits = re.match(r"mla_a(8|16)w", head)
        if bits:
            return "fp8_e4m3" if bits[1] == "8" else None
    if library == "flashmla" and "fp8" in head:
        return None  # the storage of the cache, not of the arithmetic
    template = name.template
    if template:
        return find_type(template)
    if name.truncated:
        return None
    return SHORT.get(tag[1]) if tag and library != "triton" else None


def _arch(text: str) -> str | None:
    found = re.search(r"(?i)sm_?(50|70|75|80|86|89|90|100|103|120)(?!\d)", text)
    return _ARCH[found[1]] if found else None
