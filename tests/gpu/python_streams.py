#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package for Python on a GPU: arrays of torch, and of CuPy and JAX where there are these, on
streams; the traces of `tessera bench`.

    tests/gpu/python_streams.py compile TESSERA FOLDER
    tests/gpu/python_streams.py check TESSERA FOLDER [TIMES]

`compile` makes the libraries with TESSERA, the command: it needs nvcc and no GPU. `check`, perhaps
on another machine, runs them: it needs a GPU, torch, and the package `tessera` in PYTHONPATH; exit
status 77 where one of them is missing. A line for each check; WRONG begins those that fail. TIMES
is a file for what calls take, as JSON.
"""
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path

try:
    import torch
except ImportError:
    torch = None

HEADER = '#[version = "0.0.5"]\n'
ROWS, TERMS, UNITS = 300, 256, 128
PRODUCT = HEADER + f"""
def @main(%x: Tensor[(?n, {TERMS}), float32], %w: Tensor[({UNITS}, {TERMS}), float32]) {{
  nn.relu(nn.dense(%x, %w, units=None))
}}
"""
# Nothing lies in memory of its own.
DOUBLE = HEADER + "def @main(%x: Tensor[(?n, 1024), float32]) { add(%x, %x) }"
HALF = HEADER + "def @main(%x: Tensor[(?n, 64), float16]) { add(%x, %x) }"
BFLOAT = HEADER + "def @main(%x: Tensor[(?n, 64), bfloat16]) { add(%x, %x) }"
PICK = HEADER + "def @main(%x: Tensor[(9, 5), float32], %i: Tensor[(3), int64]) {" \
    " take(%x, check_indices(%i, %x, axes=[0]), axis=0) }"
PLACES = HEADER + "def @main(%x: Tensor[(?n), float32]) { argwhere(%x) }"
CHAIN = HEADER + """
def @main(%x: Tensor[(512, 1024), float32], %w: Tensor[(1024, 1024), float32]) {
  %0 = nn.softmax(nn.dense(%x, %w, units=None));
  transpose(nn.softmax(nn.dense(%0, %w, units=None)), axes=[1, 0])
}
"""
MODELS = {"product": PRODUCT, "double": DOUBLE, "half": HALF, "bfloat": BFLOAT, "pick": PICK,
          "places": PLACES, "chain": CHAIN, "host": DOUBLE}
LONG_CYCLES = 500_000_000  # a quarter of a second, or so


def compile_all(command: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in MODELS.items():
        model = folder / f"{name}.relay"
        model.write_text(text)
        target = "cpu -mcpu=x86-64-v3" if name == "host" else "cuda"
        sizes = ["--dim", "n=0.."] if name in ("half", "bfloat") else []
        subprocess.run([command, "compile", model, "-o", model.with_suffix(".so"), "--target",
                        target, *sizes], check=True, stdout=subprocess.DEVNULL)


CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


class Case:
    """A model, inputs on the device, and what comes of them."""

    def __init__(self, folder: Path, name: str = "product", **options):
        import tessera
        self.model = tessera.Model(folder / f"{name}.so", **options)
        self.x = torch.randn(ROWS, TERMS, device="cuda")
        self.w = torch.randn(UNITS, TERMS, device="cuda") / 16
        self.out = torch.full((ROWS, UNITS), torch.nan, device="cuda")
        torch.cuda.synchronize()

    def near(self, out=None, x=None) -> None:
        wanted = torch.relu((self.x if x is None else x).double() @ self.w.double().t())
        torch.testing.assert_close(self.out if out is None else out, wanted.float().to(
            (self.out if out is None else out).device), rtol=1e-3, atol=1e-3)


def raises(kind, words: str, function, *arguments, **options) -> None:
    try:
        function(*arguments, **options)
    except kind as error:
        assert words in str(error), error
        return
    raise AssertionError(f"no {kind.__name__} with `{words}`")


def fill_late(to, values) -> None:
    """On the current stream, which has something to do before."""
    torch.cuda._sleep(LONG_CYCLES)
    to.copy_(values)


@check
def results_come_to_the_host_unless_out_is_on_the_device(folder):
    case = Case(folder)
    result = case.model(case.x, case.w)
    assert isinstance(result, torch.Tensor) and not result.is_cuda
    case.near(result)
    assert case.model(case.x, case.w, out=case.out) is case.out
    case.near()
    # Of host tensors, too; and of both.
    case.out.fill_(torch.nan)
    case.model(case.x.cpu(), case.w, out=case.out)
    case.near()
    case.near(case.model(case.x.cpu(), case.w.cpu()))
    name = case.model.outputs[0].name
    assert case.model.run({"w": case.w, "x": case.x}, out={name: case.out})[name] is case.out


@check
def what_the_current_stream_fills_is_waited_for(folder):
    case = Case(folder)
    x, other = torch.zeros_like(case.x), torch.cuda.Stream()
    with torch.cuda.stream(torch.cuda.Stream()):
        fill_late(x, case.x)
        case.model(x, case.w, out=case.out)
    with torch.cuda.stream(other):  # waits for nobody: the result is there
        host = case.out.cpu()
    case.near(host)


@check
def a_call_on_a_stream_waits_for_nothing_and_comes_in_its_turn(folder):
    case = Case(folder)
    for stream in (torch.cuda.Stream(), torch.cuda.default_stream()):
        case.model(case.x, case.w, out=case.out, stream=stream.cuda_stream)  # loads its code
        torch.cuda.synchronize()
        x = torch.zeros_like(case.x)
        case.out.fill_(torch.nan)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            fill_late(x, case.x)
            case.model(x, case.w, out=case.out, stream=stream.cuda_stream)
            assert not stream.query(), "the call waited"
            twice = case.out * 2  # what comes after it in the stream has its results
        stream.synchronize()
        case.near()
        assert torch.equal(twice, case.out * 2)


@check
def what_another_stream_fills_is_waited_for_on_the_device(folder):
    case = Case(folder)
    fills, runs = torch.cuda.Stream(), torch.cuda.Stream()
    case.model(case.x, case.w, out=case.out, stream=runs.cuda_stream)
    x = torch.zeros_like(case.x)
    torch.cuda.synchronize()
    with torch.cuda.stream(fills):
        fill_late(x, case.x)
        case.model(x, case.w, out=case.out, stream=runs)
        assert not runs.query()
    runs.synchronize()
    case.near()


@check
def nothing_is_copied(folder):
    import tessera
    model = tessera.Model(folder / "double.so")
    x = torch.randn(65536, 1024, device="cuda")
    y, wanted = torch.empty_like(x), x + x
    stream = torch.cuda.Stream()
    model(x[:8], out=y[:8], stream=stream.cuda_stream)  # loads its code
    torch.cuda.synchronize()
    free, peak = torch.cuda.mem_get_info()[0], torch.cuda.max_memory_allocated()
    model(x, out=y)
    model(x, out=y, stream=stream.cuda_stream)
    stream.synchronize()
    assert free - torch.cuda.mem_get_info()[0] < x.nbytes // 4
    assert torch.cuda.max_memory_allocated() == peak
    assert sum(model.memory().values()) < x.nbytes // 4, model.memory()
    assert torch.equal(y, wanted)


@check
def a_bound_call_reads_what_lies_there(folder):
    import tessera
    case = Case(folder)
    stream = torch.cuda.Stream()
    call = case.model.bind_on_stream({"x": case.x, "w": case.w},
                                     {case.model.outputs[0].name: case.out}, stream)
    with torch.cuda.stream(stream):
        for _ in range(20):  # the first ones are recorded, and then replayed
            case.x.normal_()
            call()
            stream.synchronize()
            case.near()
    raises(tessera.InputError, "not contiguous", case.model.bind_on_stream,
           {"x": case.x.t().contiguous().t(), "w": case.w},
           {case.model.outputs[0].name: case.out}, stream.cuda_stream)


@check
def what_is_not_contiguous_is_copied_and_the_copy_stays(folder):
    import tessera
    case = Case(folder)
    turned = case.x.t().contiguous().t()
    raises(tessera.InputError, "copy=False", case.model, turned, case.w, copy=False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            case.model(turned, case.w, out=case.out)
            case.near()
    assert [w.category for w in told] == [tessera.TesseraWarning], told
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG_CYCLES)
    case.out.fill_(torch.nan)
    torch.cuda.current_stream().synchronize()
    case.model(turned, case.w, out=case.out, stream=stream.cuda_stream)
    # Were the copy's memory free, one of these would be it.
    others = [torch.full_like(case.x, 7) for _ in range(50)]
    stream.synchronize()
    case.near()
    del others


@check
def what_cannot_be_is_refused(folder):
    import tessera
    case = Case(folder)
    stream = torch.cuda.Stream()
    on = {"out": case.out, "stream": stream.cuda_stream}
    raises(tessera.InputError, "host", case.model, case.x.cpu(), case.w, **on)
    raises(tessera.InputError, "", case.model, case.x, case.w, stream=stream.cuda_stream)
    raises(tessera.InputError, "float64", case.model, case.x.double(), case.w, **on)
    raises(tessera.InputError, "(300, 255)", case.model, case.x[:, :255].contiguous(), case.w, **on)
    raises(tessera.InputError, "", case.model, case.x, case.w, out=case.out[:-1])
    raises(tessera.InputError, "not contiguous", case.model, case.x, case.w, out=case.out.t())
    raises(tessera.InputError, "", tessera.Model(folder / "host.so"),
           torch.ones(3, 1024, device="cuda"))
    case.model(case.x, case.w, **on)
    stream.synchronize()
    case.near()


@check
def an_index_outside_is_told_by_synchronize(folder):
    import tessera
    model = tessera.Model(folder / "pick.so")
    x, stream = torch.randn(9, 5, device="cuda"), torch.cuda.Stream()
    out = torch.empty(3, 5, device="cuda")
    for places, is_good in (([0, 8, 3], True), ([0, 9, 3], False), ([2, 2, 2], True)):
        i = torch.tensor(places, device="cuda")
        torch.cuda.synchronize()
        model(x, i, out=out, stream=stream.cuda_stream)
        if is_good:
            model.synchronize()
            assert torch.equal(out, x[i])
        else:
            raises(tessera.IndexOutsideError, "9", model.synchronize)
            raises(tessera.IndexOutsideError, "9", model, x, i)


@check
def other_types_and_sizes(folder):
    import tessera
    for name, kind in (("half", torch.half), ("bfloat", torch.bfloat16)):
        model = tessera.Model(folder / f"{name}.so")
        for rows in (0, 1, 333):
            x = torch.randn(rows, 64, device="cuda").to(kind)
            out = torch.empty_like(x)
            assert torch.equal(model(x, out=out), x + x)
            assert torch.equal(model(x), (x + x).cpu())
    model = tessera.Model(folder / "places.so")
    x = (torch.rand(1000, device="cuda") > 0.5).float()
    wanted = torch.argwhere(x).contiguous()  # torch.equal views what it compares
    assert torch.equal(model(x).long(), wanted.cpu())
    kind = torch.int64 if str(model.outputs[0].dtype) == "int64" else torch.int32
    room = torch.zeros(1000, 1, device="cuda", dtype=kind)
    assert torch.equal(model(x, out=room).long(), wanted)


@check
def threads_on_streams_of_their_own(folder):
    case = Case(folder, instances=4)
    wanted, wrong = case.model(case.x, case.w, out=case.out).clone(), []

    def work():
        stream, out = torch.cuda.Stream(), torch.empty_like(case.out)
        with torch.cuda.stream(stream):
            for turn in range(50):
                out.fill_(torch.nan)
                on = {"stream": stream.cuda_stream} if turn % 2 else {}
                case.model(case.x, case.w, out=out, **on)
                stream.synchronize()
                if not torch.equal(out, wanted):
                    wrong.append(turn)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


@check
def arrays_of_cupy(folder):
    import cupy
    import tessera
    case = Case(folder)
    x, w, out = (cupy.asarray(a) for a in (case.x, case.w, case.out))
    assert case.model(x, w, out=out) is out
    case.near(torch.from_dlpack(out))
    turned = cupy.asfortranarray(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tessera.TesseraWarning)
        case.model(turned, w, out=out)
    case.near(torch.from_dlpack(out))
    stream = cupy.cuda.Stream(non_blocking=True)
    out.fill(float("nan"))
    cupy.cuda.get_current_stream().synchronize()
    with stream:
        doubled = x * 2
        case.model(doubled, w, out=out, stream=stream)
    stream.synchronize()
    case.near(torch.from_dlpack(out), case.x * 2)
    raises(tessera.InputError, "not contiguous", case.model, turned, w, out=out, stream=stream.ptr)


@check
def arrays_of_jax(folder):
    import jax
    case = Case(folder)
    device = jax.devices("cuda")[0]
    x, w = (jax.device_put(a.cpu().numpy(), device) for a in (case.x, case.w))
    case.near(torch.from_numpy(case.model(x, w)))
    case.model(x, w, out=case.out)
    case.near()


@check
def torch_compile_leaves_a_module_on_the_device_to_torch(folder):
    import onnxscript  # noqa: F401
    import tessera.torch_backend
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU()).cuda().eval()
    x = torch.randn(4, 8, device="cuda")
    with warnings.catch_warnings(record=True) as told, torch.inference_mode():
        warnings.simplefilter("always")
        result = torch.compile(module, backend="tessera")(x)
        torch.testing.assert_close(result, module(x))
    assert any(w.category is tessera.TesseraWarning for w in told)


@check
def a_trace_has_the_stream(folder):
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "trace.json"
        subprocess.run([COMMAND, "bench", folder / "chain.so", "--seconds", "0", "--trace", file],
                       check=True, stdout=subprocess.DEVNULL)
        events = json.loads(file.read_text())["traceEvents"]
    tracks = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    spans = [e for e in events if e["ph"] == "X"]
    runs = [e for e in spans if e["cat"] == "run"]
    assert len(runs) == 5 and {e["tid"] for e in runs} == {tracks["host"]}
    kernels = [e for e in spans if e["tid"] == tracks["GPU stream"] and e["cat"] != "back end"]
    assert len(kernels) % len(runs) == 0 and len(kernels) >= 4 * len(runs), len(kernels)
    for before, after in zip(kernels, kernels[1:]):  # one after the other
        assert after["ts"] >= before["ts"] + before["dur"] - 1, (before, after)
    busy = 0.0
    for run in runs:
        end = run["ts"] + run["dur"]
        mine = [e for e in kernels if run["ts"] <= e["ts"] <= end]
        assert len(mine) == len(kernels) // len(runs)
        assert all(e["dur"] > 0 and e["ts"] + e["dur"] <= end + 50 for e in mine)
        busy = max(busy, sum(e["dur"] for e in mine) / run["dur"])
    # Two products and three passes over 2 MB are most of a run.
    assert 0.1 < busy <= 1.05, busy
    regions = [e for e in spans if e["cat"] == "back end"]
    assert regions and {e["tid"] for e in regions} == {tracks["GPU stream"]}


def microseconds(call, turns: int = 9, calls: int = 200) -> list[float]:
    times = []
    for _ in range(turns):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append(1e6 * (time.perf_counter() - begin) / calls)
    torch.cuda.synchronize()
    return [round(statistics.median(times), 2), round(min(times), 2)]


def times(folder: Path) -> dict:
    """[median, least] microseconds of starting a small call, which is what Python adds to it."""
    import tessera
    model = tessera.Model(folder / "double.so")
    x = torch.randn(8, 1024, device="cuda")
    out, stream = torch.empty_like(x), torch.cuda.Stream()
    number = stream.cuda_stream
    bound = model.bind_on_stream({"x": x}, {model.outputs[0].name: out}, number)
    return {"bound on a stream": microseconds(bound),
            "model(x, out=, stream=)": microseconds(lambda: model(x, out=out, stream=number)),
            "model(x, out=)": microseconds(lambda: model(x, out=out)),
            "torch, x + x": microseconds(lambda: torch.add(x, x, out=out))}


def check_all(folder: Path, report: str | None) -> int:
    try:
        import tessera
    except ImportError as error:
        print(f"there is no package tessera here: {error}")
        return 77
    if torch is None or not torch.cuda.is_available():
        print("there is no GPU here, or no torch")
        return 77
    torch.cuda.init()
    failed = 0
    for function in CHECKS:
        torch.manual_seed(0)
        what = function.__name__.replace("_", " ")
        try:
            function(folder)
            print(f"ok {what}", flush=True)
        except ModuleNotFoundError as error:
            print(f"not tried, {error}: {what}", flush=True)
        except Exception as error:
            failed += 1
            frames = traceback.extract_tb(error.__traceback__)[1:]
            where = ", ".join(f"{Path(f.filename).name}:{f.lineno}" for f in frames)
            print(f"WRONG {what}: {type(error).__name__}: {error} ({where})", flush=True)
    measured = times(folder)
    print(f"microseconds of a call, [median, least]: {measured}; tessera {tessera.__version__}, "
          f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
    if report:
        Path(report).write_text(json.dumps(measured, indent=1), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["compile"] and len(sys.argv) == 4:
        compile_all(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1:2] == ["check"] and len(sys.argv) in (4, 5):
        COMMAND = sys.argv[2]
        raise SystemExit(check_all(Path(sys.argv[3]), (sys.argv[4:] or [None])[0]))
    else:
        sys.exit(__doc__)
