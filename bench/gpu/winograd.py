#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Convolutions of 3 by 3 in float16 on one GPU: native code by Winograd's algorithm, in tiles of 2
and of 4, against native code without, cutlass, cudnn, and PyTorch's.

    winograd.py make FOLDER --tessera COMMAND [--jobs 8] [--only NAMES] [--ways WAYS]
    winograd.py run FOLDER [--out RESULT.jsonl] [--only NAMES]   # exit 1: a result is WRONG

`make` needs no GPU: it writes layers of ResNet-50, VGG-16 and a U-Net as Relay text with their
weights, and compiles each in each way into FOLDER. `run` needs none of the compilers: it measures
all libraries there are, and compares their numbers with PyTorch's in float32 in the same run.

A layer is the convolution with bias and ReLU, channels last (`-nchw`: first), run on as many
batches as are larger than the cache, each a kernel or more of its own in one replayed graph; a time
is the graph's over their number. torch's is that of the convolution alone (cuDNN, channels_last,
cudnn.benchmark), captured in the same way. All run in turns; a result is the median of all rounds.
An error is the largest difference from float32 relative to the largest result, which is rounded to
float16: that alone is up to 5e-4.
"""
import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import grouped_convolutions
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 4e-3  # of an operator in float16
BYTES = 200e6  # of all images of a layer together: more than the cache holds
CUDA = "cuda -arch=sm_90a"
WAYS = {
    "direct": ["--partition", "none", "--target", f"{CUDA} -winograd=off"],
    "2x2": ["--partition", "none", "--target", f"{CUDA} -winograd=2"],
    "4x4": ["--partition", "none", "--target", f"{CUDA} -winograd=4"],
    "chosen": ["--partition", "none", "--target", CUDA],
    "direct-nchw": ["--partition", "none", "--target", f"{CUDA} -winograd=off"],
    "2x2-nchw": ["--partition", "none", "--target", f"{CUDA} -winograd=2"],
    "4x4-nchw": ["--partition", "none", "--target", f"{CUDA} -winograd=4"],
    "cutlass": ["--target", CUDA, "--target", "cutlass -arch=sm_90a", "--require", "cutlass"],
    "cudnn": ["--target", CUDA, "--target", "cudnn -runtime_engines", "--require", "cudnn"],
}


@dataclass(frozen=True)
class Layer:
    model: str
    size: int      # of the image
    channels: int
    results: int
    images: int

    @property
    def name(self) -> str:
        return f"{self.model}-{self.channels}-{self.results}-{self.size}-n{self.images}"

    @property
    def copies(self) -> int:
        each = 2 * self.images * self.size**2 * (self.channels + self.results)
        return max(2, min(12, round(BYTES / each)))

    def relay(self, nchw: bool) -> str:
        n, c, s = self.images, self.channels, self.size
        image = f"({n}, {c}, {s}, {s})" if nchw else f"({n}, {s}, {s}, {c})"
        layouts = "" if nchw else ', data_layout="NHWC", kernel_layout="HWIO"'
        images = ", ".join(f"%x{i}: Tensor[{image}, float16]" for i in range(self.copies))
        lines = [f"  %{i} = nn.relu(add(nn.conv2d(%x{i}, meta[relay.Constant][0], "
                 f"padding=[1, 1, 1, 1], channels={self.results}, kernel_size=[3, 3]{layouts}), "
                 "meta[relay.Constant][1]));" for i in range(self.copies)]
        results = ", ".join(f"%{i}" for i in range(self.copies))
        return (f"#[version = \"0.0.5\"]\ndef @main({images}) {{\n" + "\n".join(lines) +
                f"\n  ({results})\n}}\n#[metadata in \"{self.weights_name(nchw)}\"]\n")

    def weights_name(self, nchw: bool) -> str:
        return f"{self.name}{'-nchw' if nchw else ''}.npz"

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """As He et al. draw them, and a bias."""
        random = np.random.default_rng([3, self.channels, self.results])
        w = random.standard_normal((self.results, self.channels, 3, 3), np.float32)
        w *= np.float32(np.sqrt(2 / (9 * self.channels)))
        return w.astype(np.float16), random.standard_normal(self.results).astype(np.float16)

    def write(self, folder: Path, nchw: bool) -> Path:
        w, b = self.weights()
        if nchw:
            b = b.reshape(-1, 1, 1)
        else:
            w = np.ascontiguousarray(w.transpose(2, 3, 1, 0))
        np.savez(folder / self.weights_name(nchw), **{"0": w, "1": b})
        source = folder / self.weights_name(nchw).replace(".npz", ".relay")
        source.write_text(self.relay(nchw))
        return source


LAYERS = [Layer(*shape, images) for images in (1, 8) for shape in (
    ("resnet", 56, 64, 64), ("resnet", 28, 128, 128), ("resnet", 14, 256, 256),
    ("resnet", 7, 512, 512),
    ("vgg", 224, 64, 64), ("vgg", 112, 128, 128), ("vgg", 56, 256, 256), ("vgg", 28, 512, 512),
    ("vgg", 14, 512, 512),
    ("unet", 256, 64, 64), ("unet", 256, 128, 64), ("unet", 128, 256, 128))]


def make(options) -> None:
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)

    def compile(layer: Layer, way: str, source: Path) -> None:
        library = folder / f"{layer.name}@{way}.so"
        done = subprocess.run([options.tessera, "compile", source, "-o", library, *WAYS[way]],
                              capture_output=True, text=True)
        ok = done.returncode == 0
        print(library.name, "ok" if ok else f"FAILED: {(done.stdout + done.stderr)[-300:]}",
              flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        for layer in LAYERS:
            if options.only and layer.name not in options.only:
                continue
            sources = {nchw: layer.write(folder, nchw) for nchw in (False, True)}
            for way in options.ways or WAYS:
                pool.submit(compile, layer, way, sources[way.endswith("-nchw")])


class Bench(grouped_convolutions.Bench):
    def layer(self, layer: Layer) -> dict:
        torch = self.torch
        n, c, s = layer.images, layer.channels, layer.size
        torch.manual_seed(1)
        # Images as a layer before has left them: no number is below 0.
        images = [torch.randn(n, c, s, s, device="cuda").relu().half()
                  .contiguous(memory_format=torch.channels_last) for _ in range(layer.copies)]
        weight, bias = (torch.from_numpy(t).cuda() for t in layer.weights())
        convolve = torch.nn.functional.conv2d
        want = torch.relu(convolve(images[-1].float(), weight.float(), bias.float(), padding=1))
        calls, results = {}, {}
        feeds = {True: {f"x{i}": x.contiguous() for i, x in enumerate(images)},
                 False: {f"x{i}": x.permute(0, 2, 3, 1) for i, x in enumerate(images)}}
        for path in sorted(self.options.folder.glob(f"{layer.name}@*.so")):
            way = path.stem.split("@")[1]
            nchw = way.endswith("-nchw")
            shape = want.shape if nchw else want.permute(0, 2, 3, 1).shape
            try:
                library = self.tessera.Model(path)
                results[way] = {io.name.decode(): torch.full(shape, float("nan"), device="cuda")
                                .half() for io in library.outputs}
                calls[way] = library.bind_on_stream(feeds[nchw], results[way],
                                                    self.stream.cuda_stream)
                calls[way]()
                torch.cuda.synchronize()
            except self.tessera.Error as error:
                print(layer.name, way, error, flush=True)
                calls.pop(way, None), results.pop(way, None)
        wide = weight.contiguous(memory_format=torch.channels_last)
        calls["torch"] = self.captured(lambda: [convolve(x, wide, padding=1) for x in images])
        row = {"layer": layer.name}
        row |= {way: 1e3 * t / layer.copies for way, t in self.medians(calls).items()}
        row["errors"] = {}
        for way, tensors in results.items():
            got = list(tensors.values())[-1].float()
            got = got if way.endswith("-nchw") else got.permute(0, 3, 1, 2)
            row["errors"][way] = self.error(got, want)
        return row


def line(row: dict, ways: list[str]) -> str:
    cells = [row["layer"]]
    for way in ways:
        error = f" ({row['errors'][way]:.0e})" if way in row["errors"] else ""
        cells.append(f"{row[way]:.1f}{error}" if way in row else "-")
    return "| " + " | ".join(cells) + " |"


def run(options) -> int:
    bench, ways = Bench(options), [*WAYS, "torch"]
    torch = bench.torch
    torch.backends.cudnn.allow_tf32 = False
    print(torch.cuda.get_device_name(), torch.__version__, torch.backends.cudnn.version())
    print("us of a convolution (and the error)")
    print("| layer | " + " | ".join(ways) + " |")
    print("|---" * (len(ways) + 1) + "|")
    rows = []
    with torch.no_grad(), torch.cuda.stream(bench.stream):
        for layer in LAYERS:
            if options.only and layer.name not in options.only:
                continue
            if not any(options.folder.glob(f"{layer.name}@*.so")):
                continue
            rows.append(bench.layer(layer))
            print(line(rows[-1], ways), flush=True)
            torch.cuda.empty_cache()
    if options.out:
        options.out.write_text("".join(json.dumps(r) + "\n" for r in rows))
    wrong = [(r["layer"], way, e) for r in rows for way, e in r["errors"].items()
             if not e < TOLERANCE]
    for row in wrong:
        print("WRONG", *row)
    return len(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tessera", default=str(ROOT / "build/tessera"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--ways", type=lambda text: text.split(","))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--python", type=Path, default=ROOT / "tests" / "abi")
    options = parser.parse_args()
    sys.exit(make(options) if options.what == "make" else min(run(options), 1))


if __name__ == "__main__":
    main()
