# SPDX-License-Identifier: Apache-2.0
"""With which back ends a model is compiled: all together, and each alone with the native code that
takes what it leaves."""
CPU = {
    "all": [],
    "native": ["--partition", "none"],
    "onednn": ["--backends", "onednn"],
    "blas": ["--backends", "blas"],
    "ccompiler": ["--backends", "ccompiler"],
    "openvino": ["--backends", "openvino"],
}
CUDA = {
    "cuda": ["--target", "cuda", "--backends", "cutlass"],
    "cuda_native": ["--target", "cuda"],
    "cuda_fp16": ["--target", "cuda", "--backends", "cutlass", "--precision", "fp16"],
}
# Asked for by name: what data decide, how many boxes there are, may be decided otherwise in 16
# bits.
CPU_16_BITS = {"bf16": ["--precision", "bf16"]}
# Asked for by name, too: whoever is measured to be fastest, which takes a while.
CPU_MEASURED = {"collage": ["--partition", "collage", "--evolve", "0", "--budget", "30"]}
CONFIGURATIONS = CPU | CPU_16_BITS | CPU_MEASURED | CUDA
