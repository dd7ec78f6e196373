"""What the words of a function's name say, for libraries without a grammar of their own."""

from __future__ import annotations

import re

from tracekit.kernels.dtypes import find_type, find_types
from tracekit.kernels.model import CUDA_CORE, TENSOR_CORE, UNKNOWN, KernelClass
from tracekit.kernels.normalise import Name

_LIBRARIES = (
    ("vllm", r"vllm|moe_align_block|topkGating|reshape_and_cache"),
    ("flashinfer", r"flashinfer|SamplingFromProb|TopPSampling|RadixTopK"),
    (
        "fbgemm",
        r"fbgemm|split_embedding|permute_pooled|permute_1D|permute_2D|block_bucketize|jagged",
    ),
    (
        "transformer_engine",
        r"transformer_engine|^te_|fused_rope|gated_act_kernel|cast_transpose|nvte",
    ),
    ("trtllm", r"tensorrt_llm|trtllm|moe::dev"),
    ("bitsandbytes", r"^k[A-Z]\w*(?:bit|Quantize|Dequantize|Optimizer)|kgemm_|bitsandbytes"),
    ("apex", r"scaled_masked_softmax|scaled_upper_triang|cuApply|cuCompute|apex"),
    ("sgl_kernel", r"sgl|moe_sum_reduce|per_token_(?:group_)?quant"),
    (
        "mamba",
        r"mamba|causal_conv1d|selective_scan|_chunk_scan|_chunk_state|_state_passing|_bmm_chunk",
    ),
    ("fla", r"chunk_gated|fused_recurrent|gated_delta|_chunk_fwd|merge_16x16"),
    ("aiter", r"aiter"),
    ("xla", r"^(?:loop|input|wrapped|fusion|gemm_fusion|triton_gemm)\w*(?:fusion|_\d+)"),
)
_KINDS = (
    # the first that fits wins; order is by how specific the word is
    ("collective", r"_all_?reduce_|_all_?gather_|_reduce_scatter_"),
    ("rng_dropout", r"_dropout_|_sampling_|_sample_|_philox_|_multinomial_|_curand_|_gumbel_"),
    ("moe", r"_finalize_matmul_|_moe_|_fmoe_|_expert|_experts_|_routing_|_topk_gating|_topkgating|_topk_softmax_|_grouped_topk_|_matmul_ogs_|_grouped_gemm_|"
            r"_topk_forward_|_topk_backward_|_group_gemm|_ep_scatter|_ep_gather|_bitmatrix|_fused_gate_|_permute_cols_moe|_grouped_mm_|_moe|_silu_and_mul_post_quant_"),
    ("optimizer", r"_multi_tensor_apply_|_optimizer|_adam|_lamb_|_sgd_|_adagrad_|_lion_|_muon_|_shampoo_"),
    ("softmax", r"_softmax_|_soft_max_|_cross_entropy_|_logsoftmax_|_softmax|_softcap_softmax"),
    ("norm", r"_norm_|_rmsnorm_|_layernorm_|_rms_norm|_layer_norm|_group_norm|_ln_(?:fwd|bwd)_|_bn_|_batch_norm|_rmsnorm|_layernorm|_rms_|_groupnorm|_batchnorm|_gemma_rms|_l2norm|_add_norm"),
    ("elementwise", r"_rope_|_rotary_|_rotary_embedding_|_mrope_|_apply_rope|_rope_embedding_"),
    ("conv", r"_conv1d_|_conv2d_|_conv3d_|_causal_conv1d|_conv_|_convolution_|_depthwise_"),
    ("quantization", r"_quant|_dequant|_kdequant_|_float_to_hfp8|_float_to_|_to_float_|_cast_transpose_|_fp8_?rowwise|_to_fp8|_scaled_fp8|_fp8_cast|_mxfp|_nvfp4|_quantize"),
    ("sort_topk", r"_topk_|_top_k_|_sort_|_argsort_|_radix_|_topp_|_top_p_"),
    ("index", r"_embedding_|_embedding|_gather_|_scatter_|_index_|_lookup_|_cache_|_kv_cache|_bucketize|_permute_|_unpermute_|_slice_|_copy_blocks_|_swap_blocks_|_jagged_|_block_table"),
    ("transpose", r"_transpose|_im2col_|_col2im_|_permute102_"),
    ("elementwise", r"_elem_wise_|_unary_kernel_|_fg_kernel_|_global_kernel_"),
    ("gemm", r"_gemm_|_gemm|_matmul_|_mm_|_bmm_|_linear_|_gemv_|_dot_|_hgemm|_w8a8_|_w4a16_|_w4a8_|_kgemm_|_mmq_|_mul_mat_"),
    ("index", r"_bounds_check_|_slot_mapping|_indices_kernel_"),
    ("reduction", r"_reduce_|_sum_|_mean_|_cumsum_|_scan_|_reduction_|_amax_|_max_reduce"),
    ("copy", r"_copy_|_memcpy_|_concat_|_cat_|_pack_|_unpack_|_split_"),
    ("elementwise", r"_swiglu_|_geglu_|_silu_|_gelu_|_relu_|_act_|_and_mul_|_add_|_mul_|_fill_|_gated_act|_elementwise_|_activation|_pointwise_|_sigmoid_|_tanh_|_fused_add|_bias_|_scale_|_mask_|_resolve_future"),
)  # fmt: skip
_RECURRENT = re.compile(
    r"_chunk_|_recurrent_|_state_passing_|_selective_scan|_delta_rule|_ssd_|_inverse_kernel|_jsd_|_kl_div|_mhc_|_wy_|_hadamard_|_fused_linear_jsd"
)
_NO_PRODUCT = ("norm", "softmax", "rng_dropout", "sort_topk", "index", "optimizer", "quantization", "reduction",
               "copy", "elementwise", "transpose", "collective")  # fmt: skip
_PRODUCT_WORDS = re.compile(r"_gemm(?!a)|_matmul|_mm_|_bmm_|_dot_(?!product)")


def by_words(name: Name) -> KernelClass | None:
    """Kind from words; the unit only where a kind holds no product, or the name shows one."""
    words, text = name.words, name.text
    library = next((lib for lib, pattern in _LIBRARIES if re.search(pattern, text)), None)
    triton = (
        "::" not in text
        and "<" not in text
        and re.fullmatch(r"_?[a-z0-9][a-z0-9_]*(?:\.kd)?", name.func) is not None
    )
    kind = None
    if re.search(r"(?:_to_h?fp8|_to_h?fp8_gpu|FloatToHFP8)", text):
        kind = "quantization"
    elif re.match(r"_fused_autocast_to_", words):
        kind = "copy"
    elif "_cumsum_" in words:
        kind = "reduction"
    elif _RECURRENT.search(words):
        kind = "other"
    elif "prenorm_gemm" in words or words.startswith("_gemm_"):
        kind = "gemm"
    else:
        kind = next((k for k, pattern in _KINDS if re.search(pattern, words)), None)
    if kind is None:
        return None
    unit = UNKNOWN if words == "_reduce_segments_" else _unit(kind, words)
    is_cast = None
    if words.startswith("_fused_autocast_to_"):
        is_cast, unit = True, UNKNOWN
    if kind == "quantization":
        is_cast = None if re.search(r"_sage_|_scale_", words) else True
    if "reshape_and_cache" in words:
        stored = find_types(name.template, 2)
        is_cast = stored[0] != stored[1] if len(stored) == 2 else None
    if "transpose" in words and kind == "transpose":
        is_cast = False
    template = name.template
    dtype = find_type(template) if template else None
    if dtype is None and re.match(r"(?:c10::|__)(?:BFloat16|Half|half|nv_bfloat16)\b", name.params):
        dtype = find_type(name.params.replace("*", ""))
    if "permute" in words or "reshape_and_cache" in words:
        dtype = None
    if kind == "quantization" and template:
        # What a quantising kernel makes is named last.
        dtype = next(
            (t for t in reversed(find_types(template)) if t.startswith(("fp8", "fp4", "int8"))),
            dtype,
        )
    if (
        kind in ("quantization", "index", "moe")
        and library in ("fbgemm", "trtllm")
        and kind != "index"
    ):
        dtype = None
    return KernelClass(
        kind,
        unit,
        compute_dtype=dtype,
        library=library or ("triton" if triton else UNKNOWN),
        is_cast=is_cast,
        evidence="words of the function's name",
    )


def _unit(kind: str, words: str) -> str:
    if re.search(r"_mfma_|_wmma_|_wgmma_|_tensorop_|_mma_|_m16n8k\d+", words):
        return TENSOR_CORE
    if re.search(r"_4bit_inference_naive_|_gemv_|_wo_dot_|_simt_", words):
        return CUDA_CORE
    if "_kdequant_" in words:
        return CUDA_CORE
    if kind in _NO_PRODUCT and not _PRODUCT_WORDS.search(words):
        return CUDA_CORE
    if (
        kind == "moe"
        and re.search(
            r"_sum_|_align_|_gating|_routing(?!_compute)|_scatter|_gather|_quant|_softmax_|_permute|_count|_moe_top_k",
            words,
        )
        and "matmul" not in words
    ):
        return CUDA_CORE
    if kind == "other" and re.search(
        r"_jsd_|_selective_scan|_kl_div|_state_passing_|_recurrent_|_hadamard_", words
    ):
        return CUDA_CORE
    if kind == "conv" and "_causal_conv1d" in words:
        return CUDA_CORE
    return UNKNOWN
