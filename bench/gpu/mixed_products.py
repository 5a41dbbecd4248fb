#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of many rows with weights of 4 and 8 bits on one H200 (sm_90a), decoded in registers.

    mixed_products.py --prepare FOLDER [--tessera COMMAND] [--jobs 2]    needs nvcc and no GPU
    mixed_products.py --run FOLDER [--out RESULT.md] [--rounds 30]       needs a GPU and torch

With `--check` both leave out what is only timed.

Numbers first: `qnn.dense_mixed` by CUTLASS with odd sizes, both types of 16 bits, scales of both
types, with offsets and without, and with an epilogue, compared with torch's in float64 of the same
integers, and two runs with each other. A line that begins with WRONG is a finding, and the exit
status is 1.

Then times: a library has 4 products of one input with 4 matrices, which are inputs, too, so that
libraries are small and nothing is found in a cache. Three ways are timed in turns, by events:
decoded in registers; decoded into memory by a kernel and multiplied by CUTLASS; and CUTLASS's
product with a matrix of float16. The table has medians.
"""
import argparse
import concurrent.futures
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "abi")]

ROWS = (17, 64, 128, 512, 4096)
TARGETS = ("--target", "cuda", "--target", "cutlass -arch=sm_90a")

# Of products that are checked: (type, bits, group, has offsets, type of scales, has an epilogue).
FORMS = (("float16", 4, 64, True, "float16", False),
         ("float16", 4, 128, False, "float16", False),
         ("float16", 8, 64, True, "float16", False),
         ("float16", 8, 128, False, "float16", False),
         ("bfloat16", 4, 128, True, "bfloat16", False),
         ("bfloat16", 8, 128, False, "bfloat16", False),
         ("bfloat16", 8, 64, True, "float32", False),
         ("float16", 4, 64, True, "float16", True))
CHECKED = ((1000, 1056), (520, 384))  # columns, terms: tiles, steps and groups that are not whole
MOST_ERROR = {"float16": 2e-3, "bfloat16": 1.5e-2}  # of the largest: results are rounded

LAYERS, GROUP = 4, 128
SHAPES = ((14336, 4096), (4096, 14336))
KINDS = {"int4": (4, False), "int4 with zero points": (4, True), "int8": (8, False)}
WAYS = ("registers", "memory", "float16")


def name_of_form(form):
    dtype, bits, group, has_offsets, scales, has_epilogue = form
    return (f"checked-{dtype}-int{bits}-{group}{'-offsets' if has_offsets else ''}-{scales}"
            f"{'-epilogue' if has_epilogue else ''}")


def name_of_case(columns, terms, rows, kind, way):
    return f"timed-{way}-{kind.replace(' ', '-')}-{columns}x{terms}-{rows}"


def function_text(parameters, calls):
    results = ", ".join(f"%{i}" for i, _ in enumerate(calls) if calls[i][1])
    lines = "".join(f"  %{i} = {text};\n" for i, (text, _) in enumerate(calls))
    return (f'#[version = "0.0.5"]\ndef @main({", ".join(parameters)}) {{\n{lines}'
            f"  ({results})\n}}\n")


def checked_products():
    """(name, rows, columns, terms)"""
    for columns, terms in CHECKED:
        for rows in ROWS:
            yield f"{columns}_{rows}", rows, columns, terms


def checked_text(form):
    dtype, bits, group, has_offsets, scales, has_epilogue = form
    parameters, calls = [], []
    for name, rows, columns, terms in checked_products():
        groups = -(-terms // group)
        parameters += [f"%x_{name}: Tensor[({rows}, {terms}), {dtype}]",
                       f"%w_{name}: Tensor[({columns}, {terms * bits // 8}), int8]",
                       f"%s_{name}: Tensor[({1 + has_offsets}, {groups}, {columns}), {scales}]"]
        calls.append((f"qnn.dense_mixed(%x_{name}, %w_{name}, %s_{name}, block_size={group}, "
                      f"bits={bits})", not has_epilogue))
        if has_epilogue:
            last = len(calls) - 1
            parameters += [f"%b_{name}: Tensor[({columns}), {dtype}]",
                           f"%r_{name}: Tensor[({rows}, {columns}), {dtype}]",
                           f"%t_{name}: Tensor[({rows}, {columns}), {dtype}]",
                           f"%c_{name}: Tensor[({rows}, 1), {dtype}]"]
            calls += [(f"add(%{last}, %b_{name})", False), (f"nn.relu(%{last + 1})", False),
                      (f"add(%{last + 2}, %r_{name})", False),
                      (f"multiply(%{last + 3}, %c_{name})", False),
                      (f"add(%{last + 4}, %t_{name})", True)]
    return function_text(parameters, calls)


def timed_text(columns, terms, rows, kind, way):
    bits, has_offsets = KINDS.get(kind, (16, False))
    groups = -(-terms // GROUP)
    parameters, calls = [f"%x: Tensor[({rows}, {terms}), float16]"], []
    for i in range(LAYERS):
        if way == "float16":
            parameters.append(f"%w{i}: Tensor[({columns}, {terms}), float16]")
            calls.append((f"nn.dense(%x, %w{i}, units={columns})", True))
        elif way == "registers":
            parameters += [f"%w{i}: Tensor[({columns}, {terms * bits // 8}), int8]",
                           f"%s{i}: Tensor[({1 + has_offsets}, {groups}, {columns}), float16]"]
            calls.append((f"qnn.dense_mixed(%x, %w{i}, %s{i}, block_size={GROUP}, bits={bits})",
                          True))
        else:
            parameters += [f"%w{i}: Tensor[({columns}, {terms * bits // 8}), uint8]",
                           f"%s{i}: Tensor[({columns}, {groups}), float32]"]
            zero = f"{2 ** (bits - 1)}f"
            if has_offsets:
                parameters.append(f"%z{i}: Tensor[({columns}, {groups}), uint8]")
                zero = f"%z{i}"
            calls += [(f"qnn.dequantize_blocks(%w{i}, %s{i}, {zero}, block_size={GROUP}, "
                       f"bits={bits})", False),
                      (f'cast(%{len(calls)}, dtype="float16")', False),
                      (f"nn.dense(%x, %{len(calls) + 1}, units={columns})", True)]
    return function_text(parameters, calls)


def timed_cases():
    for columns, terms in SHAPES:
        for rows in ROWS:
            for kind in KINDS:
                yield columns, terms, rows, kind


def prepare(folder, command, jobs, only_check):
    folder.mkdir(parents=True, exist_ok=True)
    texts = {name_of_form(form): checked_text(form) for form in FORMS}
    for columns, terms, rows, kind in () if only_check else timed_cases():
        for way in WAYS:
            of = "plain" if way == "float16" else kind
            texts[name_of_case(columns, terms, rows, of, way)] = timed_text(columns, terms, rows,
                                                                            of, way)

    def make(name):
        source = folder / f"{name}.relay"
        source.write_text(texts[name])
        subprocess.run([command, "compile", source, "-o", source.with_suffix(".so"), *TARGETS],
                       check=True, stdout=subprocess.DEVNULL)
        print(f"{name} is compiled", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(make, texts))


# ---- On the device

def integers_of(words, bits, torch):
    """Signed, [columns, terms]."""
    if bits == 8:
        return words.double()
    low, high = (words << 4) >> 4, words >> 4  # arithmetic: of int8
    return torch.stack((low, high), 2).flatten(1).double()


def matrix_of(words, scales, bits, group, torch):
    """[columns, terms] in float64."""
    q = integers_of(words, bits, torch)
    spread = [s.T.repeat_interleave(group, 1)[:, :q.shape[1]] for s in scales.double()]
    return q * spread[0] + (spread[1] if len(spread) == 2 else 0)


def scales_of(shape, bits, terms, dtype, torch):
    """What makes results of size one; offsets as of zero points."""
    scales = (torch.rand(shape[1:], device="cuda") + 0.5) / terms ** 0.5 / 2 ** (bits - 2)
    if shape[0] == 1:
        return scales[None].to(dtype)
    zeros = torch.randint(0, 2 ** bits, shape[1:], device="cuda") - 2 ** (bits - 1)
    return torch.stack((scales, -zeros * scales)).to(dtype)


def words_like(shape, torch):
    return torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8)


def run_twice(library, feeds, results, torch):
    """The call, with results of two runs compared, and the first ones."""
    import ctypes_model as tessera
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), tessera.Model(library) as model:
        outputs = {io.name.decode(): t for io, t in zip(model.outputs, results)}
        call = model.bind_on_stream(feeds, outputs, stream.cuda_stream)
        call()
        stream.synchronize()
        first = [t.clone() for t in results]
        for t in results:
            t.fill_(float("nan"))
        call()
        stream.synchronize()
        return all(torch.equal(a, b) for a, b in zip(first, results))


def check_form(form, folder, torch):
    dtype, bits, group, has_offsets, scales, has_epilogue = form
    kind = getattr(torch, dtype)
    torch.manual_seed(bits * group)
    feeds, wanted, results = {}, [], []
    for name, rows, columns, terms in checked_products():
        x = torch.randn(rows, terms, device="cuda").to(kind)
        w = words_like((columns, terms * bits // 8), torch)
        s = scales_of((1 + has_offsets, -(-terms // group), columns), bits, terms,
                      getattr(torch, scales), torch)
        feeds |= {f"x_{name}": x, f"w_{name}": w, f"s_{name}": s}
        y = x.double() @ matrix_of(w, s, bits, group, torch).T
        if has_epilogue:
            shapes = {"b": (columns,), "r": (rows, columns), "t": (rows, columns), "c": (rows, 1)}
            b, r, t, c = (torch.randn(shape, device="cuda").to(kind) for shape in shapes.values())
            feeds |= {f"{key}_{name}": v for key, v in zip(shapes, (b, r, t, c))}
            y = ((y + b.double()).clamp(min=0) + r.double()) * c.double() + t.double()
        wanted.append(y)
        results.append(torch.empty(rows, columns, device="cuda", dtype=kind))
    same = run_twice(folder / f"{name_of_form(form)}.so", feeds, results, torch)
    good = same
    for (name, *_), y, result in zip(checked_products(), wanted, results):
        error = float((result.double() - y).abs().max() / y.abs().max())
        right = error <= MOST_ERROR[dtype]  # NaN is not
        good &= right
        print(f"{'ok' if right and same else 'WRONG'} {name_of_form(form)} {name}: error "
              f"{error:.1e}{'' if same else ', two runs differ'}", flush=True)
    return good


def tensors_of(columns, terms, rows, kind, way, torch):
    bits, has_offsets = KINDS.get(kind, (16, False))
    groups = -(-terms // GROUP)
    feeds = {"x": torch.randn(rows, terms, device="cuda").half()}
    for i in range(LAYERS):
        if way == "float16":
            feeds[f"w{i}"] = (torch.randn(columns, terms, device="cuda") / terms ** 0.5).half()
        elif way == "registers":
            feeds[f"w{i}"] = words_like((columns, terms * bits // 8), torch)
            feeds[f"s{i}"] = scales_of((1 + has_offsets, groups, columns), bits, terms, torch.half,
                                       torch)
        else:
            feeds[f"w{i}"] = words_like((columns, terms * bits // 8), torch).view(torch.uint8)
            feeds[f"s{i}"] = scales_of((1, columns, groups), bits, terms, torch.float32, torch)[0]
            if has_offsets:
                feeds[f"z{i}"] = torch.randint(0, 2 ** bits, (columns, groups), device="cuda",
                                               dtype=torch.uint8)
    return feeds


def measure(case, folder, rounds, torch):
    """Median microseconds of a product, by way; and what is wrong with that of registers."""
    import ctypes_model as tessera
    columns, terms, rows, kind = case
    stream = torch.cuda.Stream()
    models, calls, times, wrong = [], {}, {way: [] for way in WAYS}, ""
    kept = []
    with torch.cuda.stream(stream):
        for way in WAYS:
            of = "plain" if way == "float16" else kind
            feeds = tensors_of(columns, terms, rows, of, way, torch)
            model = tessera.Model(folder / f"{name_of_case(columns, terms, rows, of, way)}.so")
            models.append(model.__enter__())
            results = {io.name.decode(): torch.empty(rows, columns, device="cuda",
                                                     dtype=torch.half) for io in model.outputs}
            calls[way] = model.bind_on_stream(feeds, results, stream.cuda_stream)
            kept += [feeds, results]
            for _ in range(3):
                calls[way]()
            stream.synchronize()
            if way == "registers":
                bits = KINDS[kind][0]
                y = feeds["x"].double() @ matrix_of(feeds["w0"], feeds["s0"], bits, GROUP,
                                                    torch).T
                error = float((next(iter(results.values())).double() - y).abs().max() /
                              y.abs().max())
                wrong = "" if error <= MOST_ERROR["float16"] else f"an error of {error:.1e}"
        for _ in range(rounds):
            for way in WAYS:
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record(stream)
                calls[way]()
                end.record(stream)
                end.synchronize()
                times[way].append(begin.elapsed_time(end) * 1e3 / LAYERS)
        for model in models:
            model.__exit__(None, None, None)
    return {way: statistics.median(t) for way, t in times.items()}, wrong


def check(folder):
    import torch
    good = True
    for form in FORMS:
        good &= check_form(form, folder, torch)
        torch.cuda.empty_cache()
    return good


def time_all(folder, rounds, out):
    import torch
    good = True
    lines = [f"{torch.cuda.get_device_name(0)}; {LAYERS} distinct layers, {rounds} rounds in "
             f"turns; groups of {GROUP}, float16; us a product.", "",
             "| columns x terms | rows | weights | in registers | into memory | float16 | "
             "over memory | over float16 |", "|---|---|---|---|---|---|---|---|"]
    for case in timed_cases():
        columns, terms, rows, kind = case
        us, wrong = measure(case, folder, rounds, torch)
        good &= not wrong
        torch.cuda.empty_cache()
        lines.append(f"| {columns} x {terms} | {rows} | {kind} | {us['registers']:.1f} | "
                     f"{us['memory']:.1f} | {us['float16']:.1f} | "
                     f"{us['memory'] / us['registers']:.2f} | "
                     f"{us['float16'] / us['registers']:.2f} |")
        print(f"{'WRONG ' + wrong if wrong else 'ok'} {lines[-1]}", flush=True)
    text = "\n".join(lines) + "\n"
    print(text)
    if out:
        out.write_text(text)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prepare", type=Path)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--tessera", default=str(HERE.parents[1] / "build/release/bin/tessera"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.prepare:
        prepare(args.prepare, args.tessera, args.jobs, args.check)
    good = True
    if args.run:
        good = check(args.run)
        if not args.check:
            good &= time_all(args.run, args.rounds, args.out)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
