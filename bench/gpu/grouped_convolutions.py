#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Depthwise and grouped convolutions and means of images in float16 on one GPU, and ResNeXt-50.

    grouped_convolutions.py make FOLDER --tessera COMMAND [--only NAMES] [--suffix OF-LIBRARIES]
                            [--no-model] [-- OPTIONS OF tessera compile]
    grouped_convolutions.py run FOLDER [--out RESULT.md] [--only NAMES] [--no-model]

`make` needs no GPU: it writes the layers as Relay text, ResNeXt-50 (32x4d, 32 images) as ONNX, and
compiles them into FOLDER. `run` needs none of the compilers: it measures all libraries there are,
and compares their numbers with PyTorch's in float32 in the same run.

A layer is the convolution with bias and ReLU, run on as many batches as are larger than the cache,
each a kernel of its own in one replayed graph; a time is the graph's over their number. torch's is
that of the convolution alone (cuDNN, channels_last, cudnn.benchmark), captured in the same way, and
a copy moves as many bytes as the layer reads and writes. Engines run in turns; a result is the
median of all rounds.

Weights of ResNeXt-50 are multiples of an eighth of their scale, so that libraries pack well.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
IMAGES = 32
BYTES = 200e6  # of all tensors of a layer together: more than the cache holds


@dataclass(frozen=True)
class Layer:
    size: int      # of the image
    channels: int
    groups: int
    kernel: int = 3
    stride: int = 1
    nchw: bool = False
    images: int = IMAGES
    dilation: int = 1
    out: int = 0            # results; 0: as many as channels
    residual: bool = False  # added before ReLU
    dtype: str = "float16"

    @property
    def name(self) -> str:
        kind = "dw" if self.groups == self.channels else f"g{self.groups}"
        return (f"{kind}-{self.channels}-{self.size}-k{self.kernel}s{self.stride}"
                f"{f'd{self.dilation}' if self.dilation > 1 else ''}"
                f"{'-nchw' if self.nchw else ''}{f'-n{self.images}' if self.images != 32 else ''}"
                f"{f'-o{self.out}' if self.out else ''}{'-residual' if self.residual else ''}"
                f"{'-bf16' if self.dtype == 'bfloat16' else ''}")

    @property
    def results(self) -> int:
        return self.out or self.channels

    @property
    def padding(self) -> int:
        return self.dilation * (self.kernel // 2)

    @property
    def result(self) -> int:
        return (self.size - 1) // self.stride + 1  # of windows of odd sizes

    @property
    def bytes(self) -> int:
        results = self.results * (2 if self.residual else 1) * self.result**2
        return 2 * self.images * (self.channels * self.size**2 + results)

    @property
    def copies(self) -> int:
        return max(2, min(12, round(BYTES / self.bytes)))

    def relay(self) -> str:
        n, c, s, o = self.images, self.channels, self.size, self.results
        per, k, pad, d = c // self.groups, self.kernel, self.padding, self.dilation

        def tensor(last: bool, of: int, size: int) -> str:
            shape = f"{n}, {size}, {size}, {of}" if last else f"{n}, {of}, {size}, {size}"
            return f"Tensor[({shape}), {self.dtype}]"

        image = tensor(not self.nchw, c, s)
        weight = f"({o}, {per}, {k}, {k})" if self.nchw else f"({k}, {k}, {per}, {o})"
        layouts = "" if self.nchw else ', data_layout="NHWC", kernel_layout="HWIO"'
        bias = f"({o}, 1, 1)" if self.nchw else f"({o})"
        images = ", ".join(f"%x{i}: {image}" for i in range(self.copies))
        more = f",\n          %r: {tensor(not self.nchw, o, self.result)}" if self.residual else ""
        added = ("add(", "), %r)") if self.residual else ("", ")")
        lines = [f"  %{i} = nn.relu({added[0]}add(nn.conv2d(%x{i}, %w, strides=[{self.stride}, "
                 f"{self.stride}], padding=[{pad}, {pad}, {pad}, {pad}], dilation=[{d}, {d}], "
                 f"groups={self.groups}, "
                 f"channels={o}, kernel_size=[{k}, {k}]{layouts}), %b{added[1]});"
                 for i in range(self.copies)]
        results = ", ".join(f"%{i}" for i in range(self.copies))
        return (f"#[version = \"0.0.5\"]\ndef @main({images}, %w: Tensor[{weight}, {self.dtype}],\n"
                f"          %b: Tensor[{bias}, {self.dtype}]{more}) {{\n" + "\n".join(lines) +
                f"\n  ({results})\n}}\n")


@dataclass(frozen=True)
class Mean:
    """Of whole images, as squeeze-and-excitation and classifiers take it."""
    size: int
    channels: int
    images: int = IMAGES

    @property
    def name(self) -> str:
        return f"mean-{self.channels}-{self.size}"

    @property
    def bytes(self) -> int:
        return 2 * self.images * self.channels * (self.size**2 + 1)

    @property
    def copies(self) -> int:
        return max(2, min(12, round(BYTES / self.bytes)))

    def relay(self) -> str:
        images = ", ".join(f"%x{i}: Tensor[({self.images}, {self.size}, {self.size}, "
                           f"{self.channels}), float16]" for i in range(self.copies))
        lines = [f"  %{i} = mean(%x{i}, axis=[1, 2]);" for i in range(self.copies)]
        results = ", ".join(f"%{i}" for i in range(self.copies))
        return (f"#[version = \"0.0.5\"]\ndef @main({images}) {{\n" + "\n".join(lines) +
                f"\n  ({results})\n}}\n")


LAYERS = [
    # EfficientNet-B0 and ResNeXt-50
    Mean(112, 32), Mean(56, 96), Mean(28, 240), Mean(7, 1280), Mean(7, 2048),
    # ResNeXt-50
    Layer(56, 128, 32), Layer(56, 256, 32, stride=2), Layer(28, 256, 32),
    Layer(28, 512, 32, stride=2), Layer(14, 512, 32), Layer(14, 1024, 32, stride=2),
    Layer(7, 1024, 32),
    # ConvNeXt-T
    Layer(56, 96, 96, 7), Layer(28, 192, 192, 7), Layer(14, 384, 384, 7), Layer(7, 768, 768, 7),
    # MobileNetV2, EfficientNet-B0
    Layer(112, 32, 32), Layer(112, 96, 96, stride=2), Layer(56, 144, 144),
    Layer(56, 144, 144, 5, 2), Layer(28, 240, 240, 5), Layer(28, 240, 240, 3, 2),
    Layer(14, 480, 480), Layer(14, 672, 672, 5), Layer(14, 672, 672, 5, 2), Layer(7, 1152, 1152, 5),
    # as native code alone has them
    Layer(56, 128, 32, nchw=True), Layer(14, 512, 32, nchw=True), Layer(56, 144, 144, nchw=True),
    # what divides by nothing
    Layer(29, 18, 6, stride=2, images=3), Layer(13, 13, 13, 5, images=2),
    Layer(15, 36, 4, images=2), Layer(37, 72, 72, 7, images=2),
    Layer(11, 40, 5, nchw=True, images=2),
    # groups of other sizes, places of a window that lie apart
    Layer(28, 192, 4), Layer(14, 256, 4), Layer(29, 256, 16, stride=2, images=3),
    Layer(17, 384, 16, 5, images=5), Layer(28, 256, 16, dilation=2), Layer(61, 64, 8, images=7),
    Layer(14, 512, 32, residual=True), Layer(14, 512, 32, dtype="bfloat16"),
    Layer(15, 256, 8, stride=2, images=8, out=384, residual=True, dtype="bfloat16"),
    # one image
    Layer(56, 128, 32, images=1), Layer(7, 1024, 32, images=1), Layer(56, 96, 96, 7, images=1),
]


# ---- ResNeXt-50: the parameters of torchvision's, by its names

def parameters() -> dict[str, np.ndarray]:
    made: dict[str, np.ndarray] = {}

    def convolution(name: str, out: int, each: int, size: int) -> None:
        random = np.random.default_rng([7, len(made)])
        grid = random.integers(-8, 9, (out, each, size, size)).astype(np.float32) / 8
        made[f"{name}.weight"] = grid * np.float32(np.sqrt(2 * 2.6 / (each * size * size)))

    def norm(name: str, channels: int, scale: float = 1) -> None:
        random = np.random.default_rng([7, len(made)])
        made[f"{name}.weight"] = np.full(channels, scale, np.float32)
        made[f"{name}.bias"] = random.standard_normal(channels).astype(np.float32) / 8
        made[f"{name}.running_mean"] = random.standard_normal(channels).astype(np.float32) / 8
        made[f"{name}.running_var"] = np.full(channels, 1 - 1e-5, np.float32)

    convolution("conv1", 64, 3, 7)
    norm("bn1", 64)
    wide = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner, out = 128 << stage, 256 << stage
        for b in range(blocks):
            name = f"layer{stage + 1}.{b}"
            convolution(f"{name}.conv1", inner, wide, 1)
            norm(f"{name}.bn1", inner)
            convolution(f"{name}.conv2", inner, inner // 32, 3)
            norm(f"{name}.bn2", inner)
            convolution(f"{name}.conv3", out, inner, 1)
            norm(f"{name}.bn3", out, 0.5)
            if b == 0:
                convolution(f"{name}.downsample.0", out, wide, 1)
                norm(f"{name}.downsample.1", out)
            wide = out
    random = np.random.default_rng([7, len(made)])
    made["fc.weight"] = random.integers(-8, 9, (1000, wide)).astype(np.float32) / 512
    made["fc.bias"] = random.standard_normal(1000).astype(np.float32) / 8
    return made


def resnext50(path: Path, images: int) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    tensors = parameters()
    nodes = []

    def node(kind: str, inputs: list[str], name: str, **attributes) -> str:
        nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def convolution(x: str, name: str, norm: str, stride: int = 1, groups: int = 1) -> str:
        size = tensors[f"{name}.weight"].shape[-1]
        y = node("Conv", [x, f"{name}.weight"], name, kernel_shape=[size, size],
                 strides=[stride, stride], pads=[size // 2] * 4, group=groups)
        of_norm = [f"{norm}.{p}" for p in ("weight", "bias", "running_mean", "running_var")]
        return node("BatchNormalization", [y, *of_norm], norm, epsilon=1e-5)

    x = node("Relu", [convolution("image", "conv1", "bn1", 2)], "relu")
    x = node("MaxPool", [x], "maxpool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for b in range(blocks):
            name, stride = f"layer{stage + 1}.{b}", 2 if stage > 0 and b == 0 else 1
            y = convolution(x, f"{name}.conv1", f"{name}.bn1")
            y = convolution(node("Relu", [y], f"{name}.relu1"), f"{name}.conv2", f"{name}.bn2",
                            stride, 32)
            y = convolution(node("Relu", [y], f"{name}.relu2"), f"{name}.conv3", f"{name}.bn3")
            if b == 0:
                x = convolution(x, f"{name}.downsample.0", f"{name}.downsample.1", stride)
            x = node("Relu", [node("Add", [y, x], f"{name}.add")], f"{name}.relu3")
    x = node("Flatten", [node("GlobalAveragePool", [x], "avgpool")], "flatten")
    node("Gemm", [x, "fc.weight", "fc.bias"], "logits", transB=1)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "resnext50_32x4d", [value("image", TensorProto.FLOAT16, [images, 3, 224, 224])],
        [value("logits", TensorProto.FLOAT16, [images, 1000])],
        [numpy_helper.from_array(t.astype(np.float16), n) for n, t in tensors.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)


def make(options) -> None:
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)

    def compile(source: Path, library: Path, more: list[str]) -> None:
        done = subprocess.run([options.tessera, "compile", source, "-o", library, *more],
                              stdout=subprocess.DEVNULL)
        print(library.name, "ok" if done.returncode == 0 else "FAILED", flush=True)

    for layer in LAYERS:
        if options.only and layer.name not in options.only:
            continue
        source = folder / f"{layer.name}.relay"
        source.write_text(layer.relay())
        compile(source, folder / f"{layer.name}{options.suffix}.so",
                ["--target", "cuda -arch=sm_90a", "--partition", "none"])
    if not options.no_model:
        source = folder / "resnext50.onnx"
        resnext50(source, IMAGES)
        compile(source, folder / f"resnext50{options.suffix}.so", options.compile)


# ---- Measuring

class Bench:
    def __init__(self, options):
        import torch
        sys.path.insert(0, str(options.python))
        import ctypes_model as tessera
        self.torch, self.tessera, self.options = torch, tessera, options
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = False  # what results are compared with has all digits
        self.stream = torch.cuda.Stream()

    def medians(self, calls: dict, seconds: float = 0.05, rounds: int = 3) -> dict[str, float]:
        torch, times = self.torch, {name: [] for name in calls}
        for call in calls.values():
            call()
        torch.cuda.synchronize()
        for _ in range(rounds):
            for name, call in calls.items():
                call()
                pairs, end = [], time.perf_counter() + seconds
                while time.perf_counter() < end or len(pairs) < 5:
                    pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
                    pair[0].record()
                    call()
                    pair[1].record()
                    pairs.append(pair)
                    if len(pairs) % 8 == 0:
                        torch.cuda.synchronize()
                torch.cuda.synchronize()
                times[name].append(statistics.median(a.elapsed_time(b) for a, b in pairs))
        return {name: statistics.median(t) for name, t in times.items()}

    def captured(self, work):
        torch = self.torch
        work()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            work()
        return graph.replay

    def libraries(self, name: str) -> dict[str, Path]:
        found = {p.stem[len(name):]: p for p in self.options.folder.glob(f"{name}.so")}
        found |= {p.stem[len(name):]: p for p in sorted(self.options.folder.glob(f"{name}@*.so"))}
        return found

    def error(self, got, want) -> float:
        return float((got.float() - want).abs().max() / want.abs().max())

    def layer(self, layer: Layer) -> dict:
        torch = self.torch
        n, c, s, g, k = layer.images, layer.channels, layer.size, layer.groups, layer.kernel
        o, r, dtype = layer.results, layer.result, getattr(torch, layer.dtype)
        last = torch.contiguous_format if layer.nchw else torch.channels_last
        ours = lambda x: x if layer.nchw else x.permute(0, 2, 3, 1)
        random = lambda *shape: torch.randn(*shape, device="cuda").to(dtype)
        images = [random(n, c, s, s).contiguous(memory_format=last) for _ in range(layer.copies)]
        weight = (random(o, c // g, k, k) / (k * (c // g) ** 0.5)).to(dtype)
        bias, added = random(o), random(n, o, r, r).contiguous(memory_format=last)
        wide = weight.contiguous(memory_format=last)
        convolve = lambda x, w, b=None: torch.nn.functional.conv2d(
            x, w, b, layer.stride, layer.padding, layer.dilation, g)
        feeds = {f"x{i}": ours(x) for i, x in enumerate(images)}
        feeds["w"] = weight if layer.nchw else weight.permute(2, 3, 1, 0).contiguous()
        feeds["b"] = bias.view(o, 1, 1) if layer.nchw else bias
        want = convolve(images[-1].float(), weight.float(), bias.float())
        if layer.residual:
            feeds["r"] = ours(added)
            want += added.float()
        return self.row(layer, feeds, ours(torch.relu(want)), lambda: [convolve(x, wide)
                                                                       for x in images])

    def mean(self, layer: Mean) -> dict:
        torch = self.torch
        images = [torch.rand(layer.images, layer.size, layer.size, layer.channels, device="cuda")
                  .half() for _ in range(layer.copies)]
        return self.row(layer, {f"x{i}": x for i, x in enumerate(images)},
                        images[-1].float().mean((1, 2)), lambda: [x.mean((1, 2)) for x in images])

    def row(self, layer, feeds: dict, want, peer) -> dict:
        """Ours, the peer, and a copy, each as many kernels as there are images."""
        torch, calls, results = self.torch, {}, {}
        for name, path in self.libraries(layer.name).items():
            library = self.tessera.Model(path)
            results[name] = {io.name.decode(): torch.full(want.shape, float("nan"), device="cuda",
                                                          dtype=feeds["x0"].dtype)
                             for io in library.outputs}
            calls["ours" + name] = library.bind_on_stream(feeds, results[name],
                                                          self.stream.cuda_stream)
        calls["torch"] = self.captured(peer)
        half = layer.bytes // 4
        pairs = [(torch.empty(half, dtype=torch.half, device="cuda").normal_(),
                  torch.empty(half, dtype=torch.half, device="cuda")) for _ in range(layer.copies)]
        calls["copy"] = self.captured(lambda: [b.copy_(a) for a, b in pairs])
        row = {"layer": layer.name}
        row |= {n: 1e3 * t / layer.copies for n, t in self.medians(calls).items()}
        row["errors"] = {name: self.error(list(of.values())[-1], want)
                         for name, of in results.items()}
        return row

    def model(self) -> dict:
        torch = self.torch
        from torch.fx.experimental.optimization import fuse
        from torchvision.models import resnext50_32x4d
        model = resnext50_32x4d()
        state = {n: torch.from_numpy(t) for n, t in parameters().items()}
        model.load_state_dict(state, strict=False)
        model = model.eval().cuda()
        torch.manual_seed(1)
        image = torch.randn(IMAGES, 3, 224, 224, device="cuda").half()
        want = model(image.float())
        calls, results = {}, {}
        for name, path in self.libraries("resnext50").items():
            library = self.tessera.Model(path)
            results[name] = torch.empty(IMAGES, 1000, device="cuda", dtype=torch.half)
            calls["ours" + name] = library.bind_on_stream({"image": image},
                                                          {"logits": results[name]},
                                                          self.stream.cuda_stream)
        half = fuse(model).half().to(memory_format=torch.channels_last)
        last = image.contiguous(memory_format=torch.channels_last)
        calls["eager"] = lambda: half(last)
        if not self.options.no_compile:
            compiled = torch.compile(half, mode="max-autotune")
            for _ in range(3):
                compiled(last)
            calls["compiled"] = lambda: compiled(last)
        row = {"model": "ResNeXt-50 32x4d, 32 images"} | self.medians(calls, 0.3, 5)
        row["errors"] = {name: self.error(r, want) for name, r in results.items()}
        row["errors"]["eager"] = self.error(half(last), want)
        return row


def line(row: dict) -> str:
    ours = [n for n in row if n.startswith("ours")]
    cells = [row["layer"], f"{row['copy']:.1f}", f"{row['torch']:.1f}"]
    for n in ours:
        cells.append(f"{n[4:] or 'ours'} {row[n]:.1f} ({row[n] / row['torch']:.2f} of torch, "
                     f"{100 * row['copy'] / row[n]:.0f} %, {row['errors'][n[4:]]:.0e})")
    return "| " + " | ".join(cells) + " |"


def run(options) -> None:
    bench = Bench(options)
    torch = bench.torch
    print(torch.cuda.get_device_name(), torch.__version__, torch.backends.cudnn.version())
    print("| layer | copy us | torch us | ours: us (of torch, % of a copy's bandwidth, error) |")
    print("|---|---|---|---|")
    rows = []
    with torch.no_grad(), torch.cuda.stream(bench.stream):
        for layer in LAYERS:
            if options.only and layer.name not in options.only or not bench.libraries(layer.name):
                continue
            rows.append(bench.mean(layer) if isinstance(layer, Mean) else bench.layer(layer))
            print(line(rows[-1]), flush=True)
            torch.cuda.empty_cache()
        if not options.no_model:
            rows.append(bench.model())
            print(json.dumps(rows[-1]), flush=True)
    if options.out:
        options.out.write_text("".join(json.dumps(r) + "\n" for r in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tessera", default=str(ROOT / "build/tessera"))
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--suffix", default="", help="@NAME: beside other libraries of a layer")
    parser.add_argument("--no-model", action="store_true")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--python", type=Path, default=ROOT / "tests" / "abi")
    parser.add_argument("compile", nargs="*", help="options of tessera compile, after --")
    options = parser.parse_args()
    options.compile = options.compile or ["--target", "cuda -arch=sm_90a",
                                          "--target", "cutlass -arch=sm_90a"]
    (make if options.what == "make" else run)(options)


if __name__ == "__main__":
    main()
