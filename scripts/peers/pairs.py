#!/usr/bin/env python3
"""Compares commands on a noisy machine: interleaved runs, one ratio a round, an interval that assumes nothing.

Each command prints, as its last line, a JSON object; METRIC names the figure in it (higher is better, or --lower). A round
runs every command once, in an order that is drawn at random but balanced over the rounds. From each round comes one ratio,
first command over the other, so that what slows the whole machine for a while cancels out. The median ratio is reported
with the exact interval for a median from order statistics (the sign test's): no distribution is assumed.

    pairs.py --metric files_per_second --rounds 10 --json out.json \\
        "ours=build/... --flags" "theirs=fio ..."

Exit codes: 0 done and every --at-least holds, 1 a bound does not hold, 2 usage, 3 too many rounds had to be repeated, 5 a
command failed.
"""

import argparse
import json
import math
import operator
import random
import statistics
import subprocess
import sys

CONFIDENCE = 0.95
OPERATORS = {">=": operator.ge, "<=": operator.le}


def median_interval(values, confidence=CONFIDENCE):
    """(low, high, coverage): order statistics that hold the median with at least `confidence`.

    Where there are too few values for that, the extremes with the coverage that they have: 1 - 2^(1-n).
    """
    ordered = sorted(values)
    n = len(ordered)
    # P(fewer than k values below the median) under Binomial(n, 1/2).
    best, tail = 0, 0.0
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if 1 - 2 * tail < confidence:
            break
        best = k
    coverage = 1 - 2 * sum(math.comb(n, k) for k in range(best + 1)) / 2**n
    return ordered[best], ordered[n - 1 - best], coverage


def balanced_orders(names, rounds, rng):
    """One order a round: every name is as often first, second, ... as the number of rounds allows."""
    orders = []
    while len(orders) < rounds:
        base = list(names)
        rng.shuffle(base)
        orders += [base[k:] + base[:k] for k in range(len(base))]
    orders = orders[:rounds]
    rng.shuffle(orders)
    return orders


def parse_condition(text):
    """'NAME:METRIC>=X' -> (name, metric, operator, X)"""
    for symbol, holds in OPERATORS.items():
        left, found, right = text.partition(symbol)
        name, colon, metric = left.partition(":")
        if found and colon and name and metric:
            return name.strip(), metric.strip(), holds, float(right)
    raise ValueError(f"not NAME:METRIC>=X or NAME:METRIC<=X: {text}")


def run_once(name, command, timeout_s):
    done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s)
    if done.returncode != 0:
        raise RuntimeError(f"{name} failed with exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
    lines = done.stdout.strip().splitlines()
    try:
        return json.loads(lines[-1])
    except (IndexError, ValueError) as problem:
        raise RuntimeError(f"{name} did not end with a line of JSON: {done.stdout[-500:]!r}") from problem


def run_rounds(commands, rounds, seed=0, timeout_s=600, repeat_unless=(), max_repeats=None, log=lambda line: None, run=run_once):
    """[{name: figures}, ...], repeated rounds. A round in which a condition does not hold is run again."""
    rng = random.Random(seed)
    limit = rounds if max_repeats is None else max_repeats
    good, repeated = [], 0
    for order in balanced_orders(list(commands), rounds, rng):
        while True:
            figures = {name: run(name, commands[name], timeout_s) for name in order}
            missed = [c for c in repeat_unless if not c[2](figures[c[0]][c[1]], c[3])]
            if not missed:
                break
            repeated += 1
            log(f"round repeated: {missed[0][0]} had {missed[0][1]} = {figures[missed[0][0]][missed[0][1]]:.6g}")
            if repeated > limit:
                return good, repeated
        good.append(figures)
        log(f"round {len(good)} of {rounds}: " + ", ".join(order))
    return good, repeated


def compare(rounds, first, other, metric, lower=False):
    """Ratio of first over other (turned round for metrics where lower is better, so that above 1 is always better)."""
    pairs = [(r[first][metric], r[other][metric]) for r in rounds]
    ratios = [theirs / ours if lower else ours / theirs for ours, theirs in pairs]
    low, high, coverage = median_interval(ratios)
    return {
        "first": first,
        "other": other,
        "metric": metric,
        "lower_is_better": lower,
        "rounds": len(ratios),
        "ratio": statistics.median(ratios),
        "interval": [low, high],
        "coverage": coverage,
        "median_first": statistics.median(p[0] for p in pairs),
        "median_other": statistics.median(p[1] for p in pairs),
        "ratios": ratios,
    }


def figure(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def markdown_row(comparison):
    low, high = comparison["interval"]
    return (
        f"| {comparison['first']} | {comparison['other']} | {comparison['metric']} | {figure(comparison['median_first'])} | "
        f"{figure(comparison['median_other'])} | {comparison['ratio']:.3f} | {low:.3f} to {high:.3f} ({comparison['coverage']:.1%}) | "
        f"{comparison['rounds']} |"
    )


MARKDOWN_HEAD = (
    "| first | other | figure | median of first | median of other | median ratio | interval | rounds |\n"
    "| --- | --- | --- | ---: | ---: | ---: | --- | ---: |"
)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="+", metavar="NAME=COMMAND", help="two or more; ratios are of the first over each other")
    parser.add_argument("--metric", required=True, help="field of the JSON line")
    parser.add_argument("--lower", action="store_true", help="lower is better; the ratio is turned round")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the order of runs")
    parser.add_argument("--timeout", type=float, default=600, help="seconds a run")
    parser.add_argument("--repeat-unless", action="append", default=[], metavar="NAME:METRIC>=X", help="run a round again where this does not hold")
    parser.add_argument("--max-repeats", type=int, help="default: as many as rounds")
    parser.add_argument("--at-least", type=float, help="exit 1 where a median ratio is below this")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--quiet", action="store_true", help="no line a round")
    options = parser.parse_args(arguments)

    commands = dict(text.partition("=")[::2] for text in options.commands)
    if len(commands) < 2 or not all(commands.values()):
        parser.error("needs two or more NAME=COMMAND with different names")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    try:
        conditions = [parse_condition(text) for text in options.repeat_unless]
    except ValueError as problem:
        parser.error(str(problem))
    if unknown := [c[0] for c in conditions if c[0] not in commands]:
        parser.error(f"--repeat-unless names {unknown[0]}, which is no command")

    log = (lambda line: None) if options.quiet else (lambda line: print(line, file=sys.stderr, flush=True))
    try:
        rounds, repeated = run_rounds(commands, options.rounds, options.seed, options.timeout, conditions, options.max_repeats, log)
        if len(rounds) < options.rounds:
            print(f"pairs: {repeated} rounds had to be repeated, given up", file=sys.stderr)
            return 3
        first, *others = commands
        comparisons = [compare(rounds, first, other, options.metric, options.lower) for other in others]
    except (RuntimeError, subprocess.TimeoutExpired) as problem:
        print(f"pairs: {problem}", file=sys.stderr)
        return 5
    except (KeyError, ZeroDivisionError, TypeError) as problem:
        print(f"pairs: no usable {options.metric} in what a command printed: {problem!r}", file=sys.stderr)
        return 5

    if options.json:
        with open(options.json, "w") as out:
            json.dump({"commands": commands, "comparisons": comparisons, "rounds": rounds, "repeated_rounds": repeated}, out, indent=1)
            out.write("\n")
    print(MARKDOWN_HEAD)
    for comparison in comparisons:
        print(markdown_row(comparison))
    if options.at_least is not None and any(c["ratio"] < options.at_least for c in comparisons):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
