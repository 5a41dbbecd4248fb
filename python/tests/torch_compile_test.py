# SPDX-License-Identifier: Apache-2.0
"""torch.compile(backend="tessera"), beside eager execution."""
import contextlib
import gc
import threading
import unittest
import warnings
import weakref
from unittest import mock

import tessera
from requirement import needs
from torch_cases import Attention, Backend, Convolutions, nn, perceptron, torch, torch_backend


@needs("torch", torch is not None)
class Models(Backend):
    def test_perceptron(self):
        self.same(perceptron(8, 16, 4), (torch.randn(3, 8),))
        self.assertEqual((self.compiled(), self.refused()), (1, []))

    def test_convolutions(self):
        self.same(Convolutions().eval(), (torch.randn(2, 3, 17, 15),))
        self.assertEqual((self.compiled(), self.refused()), (1, []))

    def test_attention_with_lengths_that_change(self):
        calls = [(torch.randint(50, (2, length)),) for length in (7, 9, 12, 31)]
        self.same(Attention().eval(), *calls)
        self.assertEqual((self.compiled(), self.refused()), (2, []))


@needs("torch", torch is not None)
class Shapes(Backend):
    def test_one_library_for_all_sizes(self):
        calls = [(torch.randn(rows, 8),) for rows in (3, 5, 2, 64)]
        self.same(perceptron(8, 4), *calls, dynamic=True)
        self.assertEqual(self.compiled(), 1)

    def test_fixed_sizes(self):
        calls = [(torch.randn(rows, 8),) for rows in (3, 5, 3, 5)]
        self.same(perceptron(8, 4), *calls, dynamic=False)
        self.assertEqual(self.compiled(), 2)

    def test_one_row_and_none(self):
        self.same(perceptron(8, 4), *[(torch.randn(rows, 8),) for rows in (4, 1, 0, 7)])
        self.assertEqual(self.refused(), [])

    def test_a_number_that_is_no_size(self):
        def rows(x, count):
            return x[:count] * 2 + count, count + 1
        self.same(rows, *[(torch.randn(9, 4), count) for count in (2, 3, 5, 8)])

    def test_a_number_with_a_fraction(self):
        def scaled(x, factor):
            return x * factor, torch.full((2,), factor)
        self.same(scaled, *[(torch.randn(4), factor) for factor in (2.0, 2.5, 3.25, 0.5)])

    def test_sizes_that_belong_together(self):
        def joined(x, y):
            return torch.cat([x, y], 0).reshape(-1, 2) @ torch.ones(2, 3), x.shape[0] * y.shape[1]
        self.same(joined, *[(torch.randn(a, 4), torch.randn(b, 4)) for a, b in
                            ((2, 3), (4, 7), (8, 5))])

    def test_pools_whose_windows_depend_on_sizes(self):
        calls = [(torch.randn(1, 3, size, size),) for size in (8, 10, 9, 7)]
        behind = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(2))
        for pool, dynamic in ((nn.AdaptiveAvgPool2d(2), True), (behind, True), (behind, None)):
            torch._dynamo.reset()
            self.same(pool, *calls, dynamic=dynamic)
        self.assertEqual(self.refused(), [])
        torch._dynamo.reset()
        self.same(nn.AdaptiveMaxPool2d(2), *calls, dynamic=True)  # torch.onnx.export has it not

    def test_what_the_export_assumes_of_sizes(self):
        calls = [(torch.randn(1, 3, size, size),) for size in (8, 10, 9, 7)]
        with mock.patch.object(torch_backend, "_decompositions", lambda: {}):
            with self.assertWarnsRegex(tessera.TesseraWarning, "these sizes alone"):
                self.same(nn.AdaptiveAvgPool2d(2), *calls, dynamic=True)


@needs("torch", torch is not None)
class Arguments(Backend):
    def test_results_of_many_kinds(self):
        def many(x, y):
            return {"sum": x + y, "all": [x.t(), (y > 0, x.argmax(-1))], "rows": x.shape[0],
                    "nothing": None, "same": x}
        self.same(many, (torch.randn(3, 4), torch.randn(3, 4)))

    def test_inputs_changed_in_place(self):
        def change(x, y):
            x.mul_(2)
            y[:, 1] = x.sum(1)
            return x + 1, y.view(-1)
        self.same(change, (torch.randn(3, 4), torch.zeros(3, 2)))
        self.assertEqual(self.refused(), [])

    def test_views_of_inputs_share_their_memory(self):
        fast = self.same(lambda x: (x[1:] + 1, x[1:]), (torch.randn(4, 4),))
        x = torch.randn(4, 4)
        with torch.no_grad():
            fast(x)[1].zero_()
        self.assertEqual(x[1:].abs().max(), 0)

    def test_one_tensor_twice(self):
        def change(x, y):
            x.add_(1)
            return x * y
        fast = torch.compile(change, backend="tessera")
        x = torch.ones(3)
        torch.testing.assert_close(fast(x, x), torch.full((3,), 4.0))

    def test_views_that_overlap(self):
        def change(x, y):
            x.add_(1)
            return x + y
        fast = torch.compile(change, backend="tessera")
        ours, theirs = torch.arange(6.0), torch.arange(6.0)
        got = fast(ours[:4], ours[2:])
        torch.testing.assert_close((got, ours), (change(theirs[:4], theirs[2:]), theirs))

    def test_layouts(self):
        x = torch.randn(2, 6, 5, 4)
        calls = [x, x.permute(0, 3, 1, 2), x.to(memory_format=torch.channels_last), x[:, ::2],
                 torch.randn(241)[1:].view(2, 6, 5, 4)]
        with warnings.catch_warnings():
            warnings.simplefilter("error", tessera.TesseraWarning)
            self.same(lambda a: (a * 2, a.sum(1), a.transpose(1, 2)), *[(x,) for x in calls])

    def test_types(self):
        def mixed(x, y):
            return (x // 2) + y, (x > y).to(x.dtype), y.float().mean()
        for dtype in (torch.int64, torch.int32, torch.uint8, torch.float32, torch.bool):
            x, y = torch.randint(1, 50, (6, 5)), torch.randint(1, 50, (6, 5))
            call = (x.to(dtype), y.to(dtype))
            self.same(mixed if dtype != torch.bool else lambda a, b: (a & b, a ^ b), call)

    def test_half_precision(self):
        for dtype, tolerance in ((torch.float16, 2e-3), (torch.bfloat16, 2e-2)):
            self.same(perceptron(8, 16, 4).to(dtype), (torch.randn(3, 8).to(dtype),),
                      rtol=tolerance, atol=tolerance)

    def test_autocast(self):
        def cast(module):
            def run(x):
                with torch.autocast("cpu", torch.bfloat16):
                    return module(x)
            return run
        module = perceptron(8, 16, 4)
        self.same(cast(module), (torch.randn(3, 8),), eager=cast(module), rtol=2e-2, atol=2e-2)

    def test_an_index_outside(self):
        fast = torch.compile(nn.Embedding(5, 3), backend="tessera")
        for _ in range(2):
            with torch.no_grad(), self.assertRaises(IndexError):
                fast(torch.tensor([1, 7]))
        with torch.no_grad():
            self.assertEqual(fast(torch.tensor([1, 4])).shape, (2, 3))
        self.assertEqual((self.compiled(), self.refused()), (1, []))


@needs("torch", torch is not None)
class Weights(Backend):
    def test_changed_in_place_and_set(self):
        module = perceptron(8, 16, 4)
        fast = torch.compile(module, backend="tessera")
        x = torch.randn(3, 8)
        with torch.no_grad():
            for turn in range(4):
                torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
                module[0].weight.mul_(1.5)
            # From the first change on, the weights that changed are inputs.
            self.assertEqual(self.compiled(), 2)
            module[2].bias.data = torch.ones(4)
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
            module[2].weight = nn.Parameter(torch.randn(4, 16))
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
            module.load_state_dict(perceptron(8, 16, 4).state_dict())
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)

    def test_written_past_the_version_counter(self):
        module = perceptron(300, 200, 4)
        fast, x = torch.compile(module, backend="tessera"), torch.randn(3, 300)
        with torch.no_grad():
            for change in (lambda: None, lambda: module[0].weight.data.mul_(1.5),
                           lambda: module[0].bias.numpy().fill(0.25),
                           lambda: module[2].weight.data.add_(1), lambda: None):
                change()
                torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-4)
        self.assertEqual((self.compiled(), self.refused()), (4, []))

    def test_modules_that_share_their_code(self):
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(4, 4))

            def forward(self, x):
                return torch.tanh(x @ self.weight)

        layers = [Layer() for _ in range(3)]
        fast = [torch.compile(layer, backend="tessera") for layer in layers]
        x = torch.randn(2, 4)
        with (torch.no_grad(), mock.patch.object(torch_backend, "_MOST_VARIANTS", 2),
              mock.patch.object(torch_backend, "_programs", weakref.WeakSet()) as programs):
            for _ in range(2):
                for ours, theirs in zip(fast, layers):
                    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-4, atol=1e-5)
            gc.collect()
            self.assertEqual(len(programs), 1)

    def test_statistics_that_a_run_changes(self):
        module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).train()
        self.same(module, *[(torch.randn(8, 4),) for _ in range(3)])
        self.assertEqual(self.compiled(), 1)

    def test_an_equal_graph_is_not_compiled_again(self):
        module, x = perceptron(8, 4), torch.randn(3, 8)
        first = self.same(module, (x,))
        again = torch.compile(lambda x: module(x), backend="tessera")
        with torch.no_grad():
            torch.testing.assert_close(again(x), first(x))
        self.assertEqual(self.compiled(), 1)

    def test_made_in_inference_mode(self):
        with torch.inference_mode():
            module, x = perceptron(8, 4), torch.randn(3, 8)
            fast = torch.compile(module, backend="tessera")
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
            module[0].weight.mul_(2)
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)


@needs("torch", torch is not None)
class Fallback(Backend):
    def run_with_warning(self, function, *args, grad=False):
        fast = torch.compile(function, backend="tessera")
        with torch.set_grad_enabled(grad), self.assertWarns(tessera.TesseraWarning) as told:
            got = fast(*args)
        with torch.set_grad_enabled(grad):
            torch.testing.assert_close(got, function(*args))
        with warnings.catch_warnings(), torch.set_grad_enabled(grad):
            warnings.simplefilter("error", tessera.TesseraWarning)
            fast(*args)
        return got, str(told.warning)

    def test_gradients(self):
        module = perceptron(8, 4)
        y, told = self.run_with_warning(module, torch.randn(3, 8), grad=True)
        self.assertIn("no_grad", told)
        y.sum().backward()
        self.assertIsNotNone(module[0].weight.grad)

    def test_an_operator_that_is_refused(self):
        _, told = self.run_with_warning(torch.linalg.svdvals, torch.randn(4, 4))
        self.assertIn("svd", told)
        self.assertEqual(len(self.refused()), 1)

    def test_what_needs_the_generator_of_torch(self):
        fast = torch.compile(lambda x: x + torch.rand_like(x), backend="tessera")
        with torch.no_grad(), self.assertWarnsRegex(tessera.TesseraWarning, "random"):
            torch.manual_seed(3)
            got = fast(torch.zeros(4))
        torch.manual_seed(3)
        torch.testing.assert_close(got, torch.rand(4))

    def test_tensors_that_no_library_has(self):
        _, told = self.run_with_warning(lambda x: x * 2, torch.randn(3, dtype=torch.complex64))
        self.assertIn("complex64", told)
        _, told = self.run_with_warning(lambda x: torch.complex(x, x), torch.randn(3))
        self.assertIn("result", told)

    def test_what_the_export_gets_wrong(self):
        def wrong(program, **options):
            class Other(nn.Module):
                def forward(self, x):
                    return x * 1.1
            return tessera.compile(Other(), example_inputs=(torch.randn(3, 8),), progress=False)
        with mock.patch.object(torch_backend, "compile", wrong):
            _, told = self.run_with_warning(lambda x: x * 2, torch.randn(3, 8))
        self.assertIn("result 0 of the exported graph is not torch's", told)

    def test_without_falling_back(self):
        fast = torch.compile(torch.linalg.svdvals, backend="tessera", options={"fallback": False})
        with torch.no_grad(), self.assertRaises(Exception):
            fast(torch.randn(4, 4))

    def test_a_branch_on_data(self):
        def branch(x):
            y = x * 2
            if y.sum() > 0:
                return torch.tanh(y)
            return torch.sigmoid(y)
        self.same(branch, (torch.ones(3, 4),), (-torch.ones(3, 4),))
        self.assertGreater(self.compiled(), 1)
        self.assertEqual(self.refused(), [])

    def test_a_wrong_option(self):
        for options in ({"nonsense": 1}, {"fallback": True, "output": "x"}):
            fast = torch.compile(perceptron(8, 4), backend="tessera", options=options)
            with torch.no_grad(), self.assertRaisesRegex(Exception, "there is no option"):
                fast(torch.randn(3, 8))
        fast = torch.compile(perceptron(8, 4), backend="tessera", mode="max-autotune")
        with torch.no_grad(), self.assertRaisesRegex(Exception, "max-autotune"):
            fast(torch.randn(3, 8))


@needs("torch", torch is not None)
class Surroundings(Backend):
    def test_it_is_found_by_its_name(self):
        self.assertIn("tessera", torch._dynamo.list_backends())

    def test_options_reach_the_compiler(self):
        with mock.patch.object(torch_backend, "compile", wraps=tessera.compile) as made:
            self.same(perceptron(8, 4), (torch.randn(3, 8),), options={"partition": "none"})
        self.assertEqual(made.call_args.kwargs["partition"], "none")

    def test_inference_mode_after_no_grad(self):
        module, x = perceptron(8, 4), torch.randn(3, 8)
        fast = torch.compile(module, backend="tessera")
        for mode in (torch.no_grad, torch.inference_mode, torch.no_grad):
            with mode():
                got = fast(x)
                torch.testing.assert_close(got, module(x), rtol=1e-4, atol=1e-5)

    def test_threads(self):
        module = perceptron(8, 64, 4)
        fast = torch.compile(module, backend="tessera")
        wrong = []

        def work(seed):
            generator = torch.Generator().manual_seed(seed)
            with torch.no_grad():
                for rows in range(2, 12):
                    x = torch.randn(rows, 8, generator=generator)
                    with contextlib.suppress(AssertionError):
                        torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
                        continue
                    wrong.append((seed, rows))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertLessEqual(self.compiled(), 2)

    def test_a_compilation_that_is_interrupted(self):
        module, x = perceptron(8, 4), torch.randn(3, 8)
        fast = torch.compile(module, backend="tessera")
        with torch.no_grad():
            with mock.patch.object(torch_backend, "compile", side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    fast(x)
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
        self.assertEqual((self.compiled(), self.refused()), (1, []))


if __name__ == "__main__":
    unittest.main()
