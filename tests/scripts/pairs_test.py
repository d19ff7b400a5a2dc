"""Run by ctest: python3 pairs_test.py DIRECTORY_OF_PAIRS_PY"""

import collections
import io
import contextlib
import itertools
import json
import os
import random
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
import pairs  # noqa: E402


def echo(figures):
    return "echo noise; echo '" + json.dumps(figures) + "'"


def run_main(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = pairs.main(list(arguments))
        except SystemExit as ended:
            code = ended.code
    return code, out.getvalue(), err.getvalue()


class Interval(unittest.TestCase):
    def test_known_order_statistics(self):
        # Tables of the sign test: n = 10 -> 2nd and 9th value, 97.9 %; n = 20 -> 6th and 15th, 95.9 %.
        self.assertEqual(pairs.median_interval(range(1, 11))[:2], (2, 9))
        self.assertAlmostEqual(pairs.median_interval(range(10))[2], 0.97852, places=4)
        self.assertEqual(pairs.median_interval(range(1, 21))[:2], (6, 15))
        self.assertAlmostEqual(pairs.median_interval(range(20))[2], 0.95861, places=4)

    def test_few_values_say_their_coverage(self):
        self.assertEqual(pairs.median_interval([3, 1, 2]), (1, 3, 0.75))
        self.assertEqual(pairs.median_interval([5]), (5, 5, 0.0))

    def test_holds_the_median_as_often_as_it_says(self):
        # Exhaustive: each of 9 values is below (0) or above (1) the median with probability 1/2.
        held = 0
        for signs in itertools.product([-1, 1], repeat=9):
            low, high, coverage = pairs.median_interval([s * (1 + k / 100) for k, s in enumerate(signs)])
            held += low < 0 < high
        self.assertEqual(held / 2**9, coverage)


class Orders(unittest.TestCase):
    def test_every_name_is_as_often_first(self):
        for names, rounds in (("ab", 10), ("abc", 9)):
            orders = pairs.balanced_orders(names, rounds, random.Random(4))
            for place in range(len(names)):
                counts = collections.Counter(order[place] for order in orders)
                self.assertEqual(set(counts.values()), {rounds // len(names)})

    def test_order_is_drawn(self):
        self.assertGreater(len({tuple(map(tuple, pairs.balanced_orders("ab", 10, random.Random(s)))) for s in range(20)}), 5)


class Comparison(unittest.TestCase):
    rounds = [{"x": {"rate": 2.0 * k}, "y": {"rate": 1.0 * k}} for k in (1, 5, 100)]

    def test_noise_common_to_a_round_cancels(self):
        result = pairs.compare(self.rounds, "x", "y", "rate")
        self.assertEqual((result["ratio"], result["interval"]), (2.0, [2.0, 2.0]))

    def test_lower_is_better_turns_the_ratio_round(self):
        self.assertEqual(pairs.compare(self.rounds, "x", "y", "rate", lower=True)["ratio"], 0.5)


class Repeats(unittest.TestCase):
    def test_a_round_that_misses_its_condition_is_run_again(self):
        rates = iter([100, 500, 500])
        run = lambda name, command, timeout: {"rate": next(rates)} if name == "b" else {"rate": 1}
        rounds, repeated = pairs.run_rounds({"a": "", "b": ""}, 2, repeat_unless=[pairs.parse_condition("b:rate>=490")], run=run)
        self.assertEqual((len(rounds), repeated), (2, 1))
        self.assertEqual([r["b"]["rate"] for r in rounds], [500, 500])

    def test_it_gives_up(self):
        run = lambda name, command, timeout: {"rate": 1}
        rounds, repeated = pairs.run_rounds({"a": "", "b": ""}, 2, repeat_unless=[pairs.parse_condition("b:rate>=490")], run=run)
        self.assertEqual((len(rounds), repeated), (0, 3))


class Program(unittest.TestCase):
    def test_prints_a_row_and_writes_json(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "out.json")
            code, out, _ = run_main("--metric", "r", "--rounds", "3", "--json", file, "a=" + echo({"r": 3}), "b=" + echo({"r": 2}))
            self.assertEqual(code, 0)
            self.assertIn("| a | b | r | 3 | 2 | 1.500 |", out)
            with open(file) as written:
                self.assertEqual(json.load(written)["comparisons"][0]["ratios"], [1.5, 1.5, 1.5])

    def test_exit_codes(self):
        a, b = "a=" + echo({"r": 1}), "b=" + echo({"r": 2})
        self.assertEqual(run_main("--metric", "r", "--rounds", "1", "--at-least", "0.6", a, b)[0], 1)
        self.assertEqual(run_main("--metric", "r", "--rounds", "1", "--at-least", "0.5", a, b)[0], 0)
        self.assertEqual(run_main("--metric", "r", a)[0], 2)
        self.assertEqual(run_main("--metric", "r", "--repeat-unless", "c:r>=1", a, b)[0], 2)
        self.assertEqual(run_main("--metric", "r", "--rounds", "1", "--repeat-unless", "b:r>=3", a, b)[0], 3)
        for bad in ("exit 7", "echo no json", "true", echo({"other": 1})):
            self.assertEqual(run_main("--metric", "r", "--rounds", "1", a, "b=" + bad)[0], 5, bad)

    def test_a_failing_command_is_quoted(self):
        self.assertIn("disk on fire", run_main("--metric", "r", "--rounds", "1", "a=" + echo({"r": 1}), "b=echo disk on fire >&2; false")[2])


unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
