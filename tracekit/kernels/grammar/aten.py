"""PyTorch's own CUDA templates: the functor's type is the type the arithmetic runs in."""

from __future__ import annotations

import re

from tracekit.kernels.dtypes import find_float, find_type, find_types
from tracekit.kernels.model import CUDA_CORE, KernelClass
from tracekit.kernels.normalise import Name

_OURS = re.compile(
    r"at::|native::|c10::|elementwise_kernel|cunn_|TensorInfo|kernelPointwiseApply|softmax_warp_|indexFunc|indexSelect|"
    r"CatArray|multi_tensor_apply|reduce_kernel|radixSort|bitonicSort|gatherTopK|index_elementwise|distribution_|"
    r"embedding_backward|compute_cuda_kernel|triu_tril|upsample_|adaptive_|max_pool|avg_pool|layer_norm|GammaBeta|RowwiseMoments|"
    r"compute_grad_weight|krn_partial|sum_and_scatter|unrolled_elementwise|fused_dropout|masked_softmax|vectorized_gather|thrust::|cub::|rocprim"
)
_NOT_OURS = re.compile(
    r"fbgemm_gpu::|aiter|moe_|token_ids|vllm::|flashinfer::|fbgemm|transformer_engine|tensorrt_llm|sgl|^apex|deep_ep|bitsandbytes|mcrlm"
)

_KINDS = (
    ("optimizer", r"FusedAdam|FusedSgd|FusedAdagrad|FusedOptimizer|AdamFunctor|LAMB|AdagradFunctor|SGDFunctor|(?i:adam_?cuda|distopt)"),
    ("norm", r"(?i)layer_?norm|group_?norm|batch_?norm|rms_?norm|instance_?norm|RowwiseMoments|GammaBeta|ComputeFusedParams|"
             r"ComputeBackwardFusedParams|ComputeInternalGradients|batch_norm|Compute1dBackwardFused|cuComputeGrad|weight_norm"),
    ("softmax", r"(?i)softmax(?!_topk)|log_softmax"),
    ("collective", r"symm_mem|all_reduce"),
    ("rng_dropout", r"(?i)dropout|distribution_|philox|random_from_to|bernoulli|uniform_kernel|normal_kernel|exponential_kernel|multinomial|randperm"),
    ("sort_topk", r"(?i)sort|top_?k|kthvalue|mode_kernel|sbtopk|mbtopk|radix|bitonic|onesweep|DeviceMergeSort|computeBlockDigitCounts|find_?median"),
    ("index", r"(?i)(?<![a-z])index_(?:put|select|add|copy|fill|kernel|elementwise)|indexSelect|indexFunc|index_kernel|gather|scatter|embedding|"
              r"compute_cuda_kernel|take_put|masked_select|masked_scatter|nonzero|krn_partial|compute_grad_weight|sum_and_scatter|flag_kernel|"
              r"DeviceSelect|DeviceScan|DevicePartition|lookback_scan|unique|histogram|repeat_interleave|(?<![a-z])put_kernel|DeviceCompact|searchsorted|bincount|write_indices"),
    ("copy", r"copy_device_to_device|CatArray|direct_copy|copy_kernel|chunk_cat|split_with_sizes|_copy_kernel_cuda|CopyFunctor|(?<!\w)Copy<|triangle_copy|slice_copy"),
    ("reduction", r"DeviceScan|reduce_kernel|reduce_1Block|LpNorm|lpnorm|reduction_kernel|DeviceReduce|DeviceSegmentedReduce|cleanup<|segment_reduce|"
                  r"(?i:scan_(?:inner|outer)|cumsum|cumprod|tensor_kernel_scan|norm_?kernel|reduce_norm)|mean_kernel|all_any"),
    ("transpose", r"transpose_kernel|im2col|col2im|nchw2nhwc|roll_cuda|flip_kernel"),
    ("conv", r"conv_depthwise|conv2d_|conv3d|SlowConv"),
    ("other", r"(?i)pool|upsample|interpolate|ClassNLL|nll_loss|cross_?entropy|spin_kernel|ctc_loss|grid_sampl|check_uniform|(?<![a-z])nms_|(?<![a-z])roi_|"
              r"box_iou|cdist|det_|(?<![a-z])lu_|cholesky|magma|fft|assert_|record_stream|tril_indices|convert_indices|"
              r"reflection_pad|replication_pad|glu_backward_nonex|histc|lstm|(?<![a-z])gru_|sparse|csr|coalesce"),
)  # fmt: skip
_ELEMENTWISE = re.compile(
    r"elementwise_kernel|kernelPointwiseApply|pointwise|triu_tril|FillFunctor|arange|linspace|eye_kernel|unrolled_|"
    r"multi_tensor_apply|vectorized_|launch_clamp|range_kernel|amp_non_finite|amp_update|glu|gelu|silu|complex|elementwise|"
    r"foreach|lerp|where|for_each|DeviceFor|transform|ForEach"
)


def templates(name: Name) -> KernelClass | None:
    """ATen kernels by template and functor."""
    text = name.text
    if not _OURS.search(text) or _NOT_OURS.search(text):
        return None
    kind = _kind(name)
    if kind is None:
        return None
    library = (
        "cub"
        if re.match(r"(?:at_cuda_detail::)?cub::", text)
        else "rocprim"
        if text.startswith("rocprim")
        else "thrust"
        if text.startswith("thrust")
        else "aten"
    )
    is_cast, source, target = _cast(name, kind)
    return KernelClass(
        kind,
        CUDA_CORE,
        compute_dtype=None if kind == "copy" and is_cast is not False else _dtype(name, kind),
        library=library,
        cast_from=source,
        cast_to=target,
        is_cast=is_cast,
        evidence="ATen template, scalar code",
    )


def _kind(name: Name) -> str | None:
    text = name.text
    if "multi_tensor_apply" in text:
        return _multi_tensor(text)
    if name.func == "reduce_kernel":
        return "reduction"  # NormTwoOps, WelfordOps and ArgMax are reductions too
    # The function itself says more than what its arguments are made of.
    for kind, pattern in _KINDS:
        if re.search(pattern, name.func):
            return kind
    if _is_copy(text):
        return "copy"
    for kind, pattern in _KINDS:
        if re.search(pattern, text):
            return kind
    return "elementwise" if _ELEMENTWISE.search(text) else None


def _multi_tensor(text: str) -> str:
    if re.search(r"(?i)adam|lamb|FusedOptimizer|Sgd|Adagrad|novograd|FusedSgd", text):
        return "optimizer"
    if re.search(r"(?i)lpnorm|L2Norm|lp_norm|LpMax|MaxNorm", text):
        return "reduction"
    return "copy" if re.search(r"CopyFunctor|Copy<", text) else "elementwise"


def _is_copy(text: str) -> bool:
    return (
        re.search(r"copy_kernel_cuda|direct_copy|CatArray|CopyFunctor|copy_device_to_device", text)
        is not None
    )


def _cast(name: Name, kind: str) -> tuple[bool | None, str | None, str | None]:
    """Whether a copy converts, from and to what; the rules are those of ``Copy.cu`` by version."""
    text = name.text
    functor = re.search(
        r"(bfloat16|float16|float8|float4)?(?:to(float32))?_?copy_kernel_cuda", text
    )
    if functor and functor[2]:
        return True, {"bfloat16": "bf16", "float16": "fp16"}.get(functor[1] or ""), "fp32"
    if functor and functor[1] in ("bfloat16", "float16"):
        return True, "fp32", "bf16" if functor[1] == "bfloat16" else "fp16"
    if functor and functor[1] in ("float8", "float4"):
        return True, None, None
    if kind != "copy":
        # Mixed operands of an arithmetic op are converted on load: no cast kernel.
        mixed = "LoadWithCast" in text or re.search(
            r"unrolled_elementwise|vectorized_templated", text
        )
        return (False if mixed else None), None, None
    if "chunk_cat" in text or "CopyFunctor" in text:
        pair = find_types(re.sub(r".*?(?:chunk_cat\w*<|Copy<)", "", text), 2)
        if len(pair) == 2:
            differ = pair[0] != pair[1]
            ends = (pair[1], pair[0]) if "CopyFunctor" in text else (pair[0], pair[1])
            return differ, ends[0] if differ else None, ends[1] if differ else None
        return None, None, None
    if "CatArray" in text or "copy_device_to_device" in text:
        return False, None, None
    if "LoadWithCast" in text or "StoreWithCast" in text:
        return True, None, _lambda_type(name)
    if "gpu_kernel_impl_nocast" in text:
        return False, None, None
    if "gpu_kernel_impl<" in text:
        if re.search(r"elementwise_kernel(?:_manual_unroll)?<128,2,", text):
            return False, None, None
        current = re.search(r"<512,1,|manual_unroll", text) or not re.search(
            r"\{lambda\(\)#2\}::operator\(\)\(\)const", text
        )
        if current or re.search(r"<128,4,.{0,120}\{lambda\(\)#3\}", text):
            return True, None, _lambda_type(name)
        return None, None, None
    if "vectorized_elementwise_kernel" in text and "direct_copy" in text:
        return False, None, None
    return None, None, None


def _lambda_type(name: Name) -> str | None:
    """Type of the copy's lambda: what is written, never what is read."""
    found = re.search(r"\{lambda\(([\w:<>]+)\)#\d+\}", name.text)
    return find_type(found[1]) if found else None


def _dtype(name: Name, kind: str) -> str | None:
    text = name.text
    if re.search(r"OpaqueType|vectorized_gather", text):
        return None
    if "CatArray" not in text and (kind == "copy" or text.startswith(("cub::", "rocprim"))):
        return None
    inner = re.findall(r"\{lambda\(([\w:<>,]*)\)#\d+\}", text)
    # The innermost lambda(int) of elementwise_kernel counts elements.
    typed = [t for part in inner if part not in ("int", "int,bool") and (t := find_float(part))]
    if typed:
        return typed[0]
    text = re.sub(r"\{lambda\(int(?:,bool)?\)#\d+\}", "", name.template)
    text = re.sub(r"^(?:\d+,)+", "", text)
    return find_type(text)
