# SPDX-License-Identifier: Apache-2.0
"""Arrays in and out of models."""
import ctypes
import gc
import multiprocessing
import pickle
import sys
import threading
import unittest
import warnings
import weakref

import numpy as np
import tessera
from ml_dtypes import bfloat16

import models
from requirement import needs

try:
    import jax
except ImportError:
    jax = None


class Speaker:
    """DLPack alone, as other libraries have it."""

    def __init__(self, array: np.ndarray):
        self.array, self.asked = array, 0

    def __dlpack__(self, **options):
        self.asked += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Managed(ctypes.Structure):
    """DLPack's tensor of float32 with its keeper, who has nothing to free."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("dtype", ctypes.c_uint8 * 4), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Lent(Speaker):
    """Lends the sizes that it has itself, as torch does for arrays on a GPU."""

    def __init__(self, array: np.ndarray):
        super().__init__(array)
        self.sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.reshape = array.reshape

    def __dlpack__(self, **options):
        float32 = (ctypes.c_uint8 * 4)(2, 32, 1, 0)
        self.managed = Managed(self.array.ctypes.data, (ctypes.c_int32 * 2)(1, 0), self.array.ndim,
                               float32, self.sizes)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.managed), b"dltensor", None)


class Interface:
    """The array interface alone."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = tessera.Model(models.library(models.DENSE), threads=1)
        cls.x, cls.w = models.random(4, 8), models.random(16, 8, seed=1)
        cls.y = models.dense(cls.x, cls.w)

    def test_arrays_of_all_kinds(self):
        for kind in (lambda a: a, Speaker, Interface, lambda a: memoryview(a)):
            y = self.model(kind(self.x), kind(self.w))
            self.assertEqual((y.shape, y.dtype), ((4, 16), np.float32))
            np.testing.assert_allclose(y, self.y, rtol=1e-5, atol=1e-5)

    @needs("jax", jax is not None)
    def test_arrays_of_jax(self):
        x, w = jax.numpy.asarray(self.x), jax.numpy.asarray(self.w)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(self.model(x, w, copy=False), self.model(self.x, self.w))
        with tessera.Model(models.library(models.BFLOAT)) as model:
            a = jax.numpy.asarray(models.random(4, 5), jax.numpy.bfloat16)
            np.testing.assert_array_equal(model(a, a), np.asarray(a * a))
            with self.assertRaisesRegex(tessera.InputError, "float32"):
                model(a.astype(np.float32), a)

    def test_names(self):
        given = {"w": self.w, "x": self.x}
        output = self.model.outputs[0].name
        np.testing.assert_allclose(self.model.run(given)[output], self.y, rtol=1e-5, atol=1e-5)
        out = {output: np.empty((4, 16), np.float32)}
        self.assertIs(self.model.run(given, out=out)[output], out[output])

    def test_sizes_from_none_to_many(self):
        model = tessera.Model(models.library(models.DENSE, dims={"n": (0, 70)}))
        for rows in (0, 1, 3, 70):
            x = models.random(rows, 8, seed=rows)
            y = model(x, self.w)
            self.assertEqual(y.shape, (rows, 16))
            np.testing.assert_allclose(y, models.dense(x, self.w), rtol=1e-5, atol=1e-5)

    def test_results_stay(self):
        first = self.model(self.x, self.w)
        kept = first.copy()
        self.model(2 * self.x, self.w)
        np.testing.assert_array_equal(first, kept)

    def test_memory_of_a_result_lives_as_long_as_it(self):
        model = tessera.Model(models.library(models.DENSE))
        y = model(self.x, self.w)
        gone = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(gone())
        np.testing.assert_allclose(y, self.y, rtol=1e-5, atol=1e-5)

    def test_out_is_written_in_place(self):
        out = np.full((4, 16), np.nan, np.float32)
        self.assertIs(self.model(self.x, self.w, out=out), out)
        np.testing.assert_allclose(out, self.y, rtol=1e-5, atol=1e-5)

    def test_out_with_more_room(self):
        room = np.full((6, 16), np.nan, np.float32)
        y = self.model(self.x, self.w, out=room)
        self.assertEqual(y.shape, (4, 16))
        self.assertTrue(np.shares_memory(y, room))
        np.testing.assert_allclose(y, self.y, rtol=1e-5, atol=1e-5)

    def test_sizes_of_what_is_lent_by_dlpack_are_the_producers(self):
        lent = Lent(np.full((6, 16), np.nan, np.float32))
        y = self.model(self.x, self.w, out=lent)
        self.assertEqual((y.shape, list(lent.sizes)), ((4, 16), [6, 16]))
        np.testing.assert_allclose(y, self.y, rtol=1e-5, atol=1e-5)

    def test_nothing_is_copied_that_need_not_be(self):
        x = self.x.copy()
        x.flags.writeable = False
        self.model(x, self.w, copy=False)

    def test_several_results_of_sizes_that_data_decide(self):
        with tessera.Model(models.library(models.TWO)) as model:
            x, y = models.random(6), models.random(6, seed=1)
            for a, b in ((x, y), (y, x), (x, x)):
                total, places = model(a, b)
                np.testing.assert_array_equal(total, a + b)
                np.testing.assert_array_equal(places, np.argwhere(a > b))

    def test_bfloat16(self):
        with tessera.Model(models.library(models.BFLOAT)) as model:
            self.assertEqual(model.inputs[0].dtype, np.dtype(bfloat16))
            x, y = models.random(4, 5).astype(bfloat16), models.random(4, 5).astype(bfloat16)
            result = model(x, y)
            self.assertEqual(result.dtype, np.dtype(bfloat16))
            np.testing.assert_array_equal(result, x * y)
            with self.assertRaisesRegex(tessera.InputError, "uint16"):
                model(x.view(np.uint16), y)
            with self.assertWarns(tessera.TesseraWarning):
                np.testing.assert_array_equal(model(x.T.copy().T, y), x * y)
            np.testing.assert_array_equal(model.run({"x": x, "y": y})[model.outputs[0].name], x * y)

    def test_bound_calls(self):
        x = self.x.copy()
        call = self.model.bind({"x": x, "w": self.w})
        call()
        first = call.fetch()
        x *= -1  # it is the same memory
        call()
        self.assertFalse(np.array_equal(*first.values(), *call.fetch().values()))
        with self.assertRaisesRegex(tessera.InputError, "not contiguous"):
            self.model.bind({"x": np.asfortranarray(x), "w": self.w})

    def test_what_a_model_says_of_itself(self):
        x, w = self.model.inputs
        self.assertEqual((x.name, x.shape, x.dtype), ("x", (None, 8), np.float32))
        self.assertEqual(str(w), "w: float32[16, 8]")
        self.assertIn("x: float32[?, 8]", repr(self.model))
        self.assertIn("inputs", self.model.metadata)
        self.assertTrue(self.model.target.startswith("cpu"))
        self.assertTrue(self.model.build_id)

    def test_memory_and_profile(self):
        model = tessera.Model(models.library(models.DENSE), threads=1)
        self.assertEqual(model.memory().keys(),
                         {"constant_bytes", "pool_bytes", "other_bytes", "pinned_bytes"})
        model.profile(True)
        for _ in range(3):
            model(self.x, self.w)
        self.assertEqual({entry["calls"] for entry in model.profile_entries()}, {3})

    def test_pickle_by_path(self):
        model = tessera.Model(models.library(models.DENSE), threads=1, instances=2)
        again = pickle.loads(pickle.dumps(model))
        self.assertEqual((again.path, again._options), (model.path, model._options))
        np.testing.assert_array_equal(again(self.x, self.w), model(self.x, self.w))
        own = tessera.compile(models.DENSE, progress=False)
        with self.assertRaisesRegex(pickle.PicklingError, "give `compile` an output"):
            pickle.dumps(own)


class Samples(unittest.TestCase):
    def test_what_is_written_over_all_of_a_block_is_seen(self):
        from tessera import _runtime
        arrays = [models.random(n) for n in (0, 1, 3, 17, 128, 129, 5000)]
        samples = _runtime.Samples([(a.ctypes.data, a.nbytes) for a in arrays])
        self.assertEqual(samples.differing(), [])
        for index, array in enumerate(arrays[1:], 1):
            kept = array.copy()
            array *= 1.001
            self.assertEqual(samples.differing(), [index])
            array[:] = kept
            self.assertEqual(samples.differing(), [])
            for place in (0, -1):
                array[place] += 1
                self.assertEqual(samples.differing(), [index], array.size)
                array[:] = kept


class Processes(unittest.TestCase):
    def test_forked_and_started_ones(self):
        model = tessera.Model(models.library(models.DENSE), threads=2)
        x, w = models.random(4, 8), models.random(16, 8, seed=1)
        y = model(x, w)
        for way in ("fork", "spawn"):  # a spawned one has it by its path
            with multiprocessing.get_context(way).Pool(2) as pool:
                for other in pool.starmap(model, [(x, w)] * 4):
                    np.testing.assert_array_equal(other, y)


class Threads(unittest.TestCase):
    def results(self, model, count=4, runs=5):
        x = [models.random(700, 700, seed=i) / 30 for i in range(count)]
        found, wrong = [None] * count, []

        def work(i):
            for _ in range(runs):
                y = model(x[i])
                if found[i] is not None and not np.array_equal(y, found[i]):
                    wrong.append(i)
                found[i] = y

        threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        return found

    def test_one_instance_is_waited_for_and_more_run_at_once(self):
        path = models.library(models.LONG)
        one = self.results(tessera.Model(path, threads=1))
        three = self.results(tessera.Model(path, threads=1, instances=3))
        for a, b in zip(one, three):
            np.testing.assert_array_equal(a, b)

    def test_the_lock_is_given_up(self):
        """Nothing but a call that gives the lock up lets another thread go on before it ends: the
        interpreter itself takes it from none within this time."""
        model = tessera.Model(models.library(models.LONG), threads=1)
        x = models.random(700, 700)
        bound = model.bind({"x": x})
        before = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, before)
        for call in (lambda: model(x), bound):
            call()
            begun, ended = threading.Event(), []

            def work(call=call, begun=begun, ended=ended):
                begun.set()
                call()
                ended.append(True)

            sys.setswitchinterval(1000)
            thread = threading.Thread(target=work)
            thread.start()
            begun.wait()
            had_ended = bool(ended)
            sys.setswitchinterval(before)
            thread.join()
            self.assertFalse(had_ended)

    def test_what_needs_all_instances_is_refused_while_one_runs(self):
        model = tessera.Model(models.library(models.LONG), threads=1)
        x = models.random(700, 700)
        thread = threading.Thread(target=lambda: [model(x) for _ in range(40)])
        thread.start()
        refused = 0
        while thread.is_alive() and not refused:
            try:
                model.memory()
            except tessera.BusyError as error:
                refused = error.status
        thread.join()
        self.assertEqual(refused, 7)


if __name__ == "__main__":
    unittest.main()
