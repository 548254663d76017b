#!/usr/bin/env python3
"""Change the sources at random places, one by one, and see whether a test fails.

    mutants.py [--count N] [--seed S] [--results FILE]
    mutants.py --in PATH [--in PATH]  change these files or folders alone
    mutants.py --list                 print the mutants that are drawn; build nothing
    mutants.py --only NUMBER          run this one again, and print what its tests say

planted_errors.py plants errors that somebody thought of. This script draws them: an operator for
its neighbour, a number plus one, `min` for `max`, a condition turned round, a statement taken out.
Every file of the kernels and of the host's pipelines has its share. As there, all mutants are
compiled into one copy of the sources, each behind a switch that is off; those that do not compile
are left out. One run of every test without a mutant shows which mutants it reaches, and how long it
takes. Then each mutant is switched on for the tests that reach it, the quickest first, until one
fails: by a wrong result, a fault that the emulator reports, a panic, or a time many times its own.

FILE gets a line of JSON per mutant when it is done, and says what was done already: started again
with the same FILE, the script goes on. docs/mutants.md says what became of those that no test
notices.
"""

import argparse
import bisect
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from planted_errors import Change, Copy, FUNCTION, Misfit, ROOT, read_sources, with_switches

# What is mutated: all kernels, and the host's code that results come from.
FOLDERS = ["kernels-gpu/src/", "host/src/label/", "host/src/trace/", "host/src/route/",
           "host/src/image/", "host/src/gpu/", "host/src/formats/", "host/src/distance/",
           "host/src/measure/", "host/src/regions/", "host/src/rle/", "host/src/engine/",
           "host/src/tile_search.rs"]
NOT = re.compile(r"(^|/)(tests|oracle|test_\w+|\w+_tests|improve/check)\.rs$|/tests/")
# The tests that are run, as `cargo test` names them.
TESTS = [
    ["-p", "trazar", "--features", "image,cuda", "--lib", "--test", "formats", "--test", "errors",
     "--test", "out_of_memory", "--test", "cuda_stand_in"],
    ["-p", "trazar-cli", "--test", "command"],
    ["-p", "trazar-suite", "--test", "on_emulator", "--test", "emulator_primitives",
     "--test", "emulator_kernels", "--test", "emulator_queues", "--test", "trace",
     "--test", "trace_fragments", "--test", "trace_components", "--test", "trace_tiles",
     "--test", "route", "--test", "regions", "--test", "distance", "--test", "emulator_distance",
     "--test", "emulator_distance_resident"],
]
# Times its time without a mutant that a test may take, and seconds besides.
PATIENCE, GRACE = 10, 20


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    # What becomes of what, for people.
    what: str
    # The expression or the statement that is replaced, and its replacement.
    start: int
    end: int
    new: str

    def named(self):
        return f"{self.path}:{self.line}: {self.what}"


# Drawing mutants.

STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|b?\'(?:\\.|[^\'\\])\'', re.DOTALL)
TOKENS = [
    (re.compile(r" (<) "), "<="), (re.compile(r" (<=) "), "<"),
    (re.compile(r" (>) "), ">="), (re.compile(r" (>=) "), ">"),
    (re.compile(r" (==) "), "!="), (re.compile(r" (!=) "), "=="),
    (re.compile(r" (&&) "), "||"), (re.compile(r" (\|\|) "), "&&"),
    (re.compile(r" (\+) "), "-"), (re.compile(r" (-) "), "+"), (re.compile(r" (\*) "), "+"),
    (re.compile(r" (<<) "), ">>"), (re.compile(r" (>>) "), "<<"),
    (re.compile(r" (&) "), "|"), (re.compile(r" (\|) "), "&"), (re.compile(r" (\^) "), "|"),
    (re.compile(r"\.(min)\("), "max"), (re.compile(r"\.(max)\("), "min"),
    (re.compile(r"(?<=[\w)])(\.\.=)(?=[\w(])"), ".."),
    (re.compile(r"\b(true)\b"), "false"), (re.compile(r"\b(false)\b"), "true"),
    (re.compile(r"(?<=[ (])(!)(?=[a-z(])"), ""),
    (re.compile(r"\b(atomic_min)\("), "atomic_max"), (re.compile(r"\b(atomic_max)\("), "atomic_min"),
]
NUMBER = re.compile(r"(?<=[ (\[])(\d+)(?=[ ;,)\]u.])(?!\.\d)")
STATEMENT = re.compile(r"^ +((?:self\.)?[a-z_][\w.]*(?:::\w+)*\([^;\n]*\)\??;)$|"
                       r"^ +((?:return|break|continue);)$|"
                       r"^ +([a-z_][\w.\[\]]* (?:[-+*/|&^]|<<|>>)= [^;\n]*;)$", re.MULTILINE)
BODY = re.compile(r"\bfn \w+")
SKIPPED = re.compile(r"\b(?:debug_)?assert\w*!|\b(?:const|static) |\bpanic!|format!|unreachable!"
                     r"|#\[|\bmatches!|\bdbg!|\bwrite!|\bprintln!|\.expect\(")


def masked(text):
    """`text` with comments and strings blank."""
    return STRING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def closing(code, at):
    """The offset after the bracket that closes the one at `at`."""
    depth = 0
    for end in range(at, len(code)):
        depth += (code[end] in "([{") - (code[end] in ")]}")
        if depth == 0:
            return end + 1
    return len(code)


def bodies(code):
    """The bodies of functions outside of tests."""
    tests = code.find("#[cfg(test)]\nmod ")
    code = code if tests < 0 else code[:tests]
    spans = []
    for match in BODY.finditer(code):
        at = match.end()
        while at < len(code) and code[at] not in "{;":
            at = closing(code, at) if code[at] in "([" else at + 1
        if at < len(code) and code[at] == "{":
            end = closing(code, at)
            if not spans or at > spans[-1][1]:
                spans.append((at + 1, end - 1))
    return spans


def expression(code, at, body):
    """The span of the expression around the token at `at`: up to the brackets, commas, assignments
    and keywords around it."""
    depth, start = 0, at
    while start > body[0]:
        before = code[start - 1]
        if before in ")]}":
            depth += 1
        elif before in "([{":
            if depth == 0:
                break
            depth -= 1
        elif depth == 0:
            if before in ",;" or code[start - 2:start] == "=>":
                break
            if re.search(r"(?:[^=!<>+\-*/|&^%]| [-+*/|&^]|<<|>>)= $|\b(?:if|while|return|in|match|else) $|"
                         r"\w: $|(?<= )\|[\w, ()&]*\| $|\(\|[\w, ()&]*\| $", code[max(0, start - 40):start]):
                break
        start -= 1
    depth, end = 0, at
    while end < body[1]:
        here = code[end]
        if depth == 0 and (here in ",;)]}" or code.startswith(" {", end)
                           or code.startswith(" else {", end) or code.startswith("=>", end)):
            break
        depth += (here in "([{") - (here in ")]}")
        end += 1
    while start < end and code[start].isspace():
        start += 1
    while end > start and code[end - 1].isspace():
        end -= 1
    return start, end


def mutants_of(path, text):
    code = masked(text)
    found = []
    lines = [0] + [match.end() for match in re.finditer("\n", text)]
    number = lambda at: bisect.bisect_right(lines, at)
    for body in bodies(code):
        part = code[:body[1]]
        for token, new in TOKENS:
            for match in token.finditer(part, body[0]):
                start, end = expression(code, match.start(1), body)
                found.append((match.start(1), match.end(1), new, start, end))
        for match in NUMBER.finditer(part, body[0]):
            start, end = expression(code, match.start(1), body)
            found.append((match.start(1), match.end(1), str(int(match[1]) + 1), start, end))
        for match in STATEMENT.finditer(part, body[0]):
            group = next(i for i in (1, 2, 3) if match[i])
            found.append((match.start(group), match.end(group), "", *match.span(group)))
    for at, to, new, start, end in found:
        whole = code[start:end]
        if not whole.strip() or SKIPPED.search(code[code.rfind("\n", 0, start) + 1:end]):
            continue
        if not (start <= at and to <= end):
            continue
        what = f"`{text[at:to]}` to `{new}`" if new else f"without `{text[at:to]}`"
        changed = text[start:at] + new + text[to:end]
        yield Mutant(path, number(at), what, start, end, changed)


def draw(texts, folders, count, seed):
    """`count` mutants or fewer, at most one per statement: from every file in turn, so that small
    files have their share."""
    files = {}
    for path, text in texts.items():
        if not path.startswith(tuple(folders)) or NOT.search(path):
            continue
        drawn = random.Random(f"{seed} {path}")
        mutants = sorted(mutants_of(path, text), key=lambda m: (m.start, m.end, m.new))
        drawn.shuffle(mutants)
        taken = []
        for mutant in mutants:
            if all(mutant.end <= other.start or other.end <= mutant.start for other in taken):
                taken.append(mutant)
        if taken:
            files[path] = taken
    order = sorted(files)
    random.Random(seed).shuffle(order)
    # Each round takes one of every file that has any left, and two of kernels.
    chosen = []
    while len(chosen) < count and any(files.values()):
        for path in order:
            for _ in range(2 if path.startswith("kernels-gpu/") else 1):
                if files[path]:
                    chosen.append(files[path].pop())
    return chosen[:count]


# Compiling them.

SWITCHED = re.compile(r"::cuda_std::planted::is\((\d+)\)")


def lines_of(copy, span):
    """The lines of the file that a compiler's message points into, and the first and last of it."""
    source = copy.sources / span["file_name"]
    lines = source.read_text().splitlines() if source.is_file() else []
    return lines, span["line_start"] - 1, span["line_end"]


def not_constant(copy, error, fixed):
    """Of a compiler's error that something constant calls a function that is not, as it has a
    mutant, which is read when it runs: the functions that need not be constant either, and those
    that must be. `fixed` are those that are known to be among the latter."""
    match = re.fullmatch(r"cannot call non-const .*`(?:.*::)?(\w+)` in (.*)", error["message"])
    if not match or match[1] == "is":
        return set(), set()
    names = set()
    for span in error["spans"]:
        lines, _, last = lines_of(copy, span)
        names |= set(FUNCTION.findall("\n".join(lines[:last]))[-1:])
    if match[2] != "constant functions" or names & fixed:
        return set(), {match[1]}
    return names, set()


def switches_at(copy, error):
    """The numbers of the mutants in the lines that a compiler's error is about."""
    numbers = set()
    for span in error["spans"]:
        lines, first, last = lines_of(copy, span)
        found = (SWITCHED.findall("\n".join(lines[first:last])) or
                 SWITCHED.findall("\n".join(lines[max(0, first - 1):last + 1])))
        numbers |= {int(number) for number in found}
    return numbers


def compiling(mutants, texts, target):
    """A copy of the sources with those mutants that compile, by number. It is built in a folder of
    its own: cargo knows a workspace's members by their paths below its root alone, and would take
    what it has built of another copy for this one's."""
    left = dict(enumerate(mutants, 1))
    plain, fixed = set(), set()

    def function_of(number):
        return FUNCTION.findall(texts[left[number].path], 0, left[number].start)[-1]

    def not_const(text, before, changes):
        names = {FUNCTION.findall(before, 0, change.start)[-1] for change in changes} | plain
        return re.sub(rf"\bconst ((?:unsafe )?fn (?:{'|'.join(sorted(names))})\b)", r"\1", text)

    while True:
        changes = {}
        for number, mutant in left.items():
            changes.setdefault(mutant.path, []).append(
                Change(mutant.start, mutant.end, number, mutant.new))
        copy = Copy(target / "mutants", "sources", with_switches(texts, changes, not_const))
        status, messages, stderr = copy.cargo(
            "check", "-p", "trazar", "-p", "trazar-kernels", "--profile", "test")
        if status == 0:
            return copy, left
        errors = [message["message"] for message in messages
                  if message["reason"] == "compiler-message"
                  and message["message"]["level"] == "error"]
        refused, known = set(), (set(plain), set(fixed))
        for error in errors:
            loose, strict = not_constant(copy, error, fixed)
            plain |= loose
            fixed |= strict
            if not loose and not strict:
                refused |= left.keys() & switches_at(copy, error)
        plain -= fixed
        refused |= {number for number in left if function_of(number) in fixed}
        if not refused and known == (plain, fixed):
            raise Misfit("errors that no mutant explains:\n" +
                         "".join(error["rendered"] for error in errors[:20]) + stderr[-3000:])
        for number in refused:
            del left[number]
        print(f"{len(refused)} do not compile, {len(left)} are left", flush=True)


# Running them.

@dataclasses.dataclass(frozen=True)
class Test:
    binary: str
    executable: str
    folder: pathlib.Path
    name: str

    def named(self):
        return f"{self.binary} {self.name}"


def all_tests(copy):
    tests = []
    for arguments in TESTS:
        for binary, executable, folder in copy.build(arguments):
            listed = subprocess.run([executable, "--list"], cwd=folder, text=True, check=True,
                                    stdout=subprocess.PIPE,
                                    env=os.environ | {"TRAZAR_PLANTED": "0"}).stdout
            for name in re.findall(r"^(.*): test$", listed, re.MULTILINE):
                tests.append(Test(binary, executable, folder, name))
    return tests


def record(test, seed):
    """The test's time without a mutant, and the mutants that it reaches."""
    with tempfile.NamedTemporaryFile() as file:
        begin = time.monotonic()
        status, output = Copy.run(test.executable, test.folder, test.name, 0, seed,
                                  TRAZAR_REACHED=file.name)
        if status != 0:
            raise Misfit(f"{test.named()} fails without a mutant:\n{output[-3000:]}")
        return time.monotonic() - begin, {int(line) for line in file.read().split()}


def try_mutant(number, tests, seconds, seed):
    """The first test that fails with a mutant, and how; or none."""
    for test in tests:
        status, output = Copy.run(test.executable, test.folder, test.name, number, seed,
                                  seconds=GRACE + PATIENCE * seconds[test])
        if status != 0:
            return test, "not done in time" if status is None else output
    return None, ""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400, help="mutants to draw")
    parser.add_argument("--seed", type=int, default=1, help="which are drawn, and the tests' seed")
    parser.add_argument("--in", action="append", metavar="PATH", dest="folders",
                        help="change only files below this path; may be repeated")
    parser.add_argument("--list", action="store_true", help="print them, build nothing")
    parser.add_argument("--only", type=int, action="append", metavar="NUMBER")
    parser.add_argument("--results", type=pathlib.Path, default="target/mutants.jsonl")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at a time")
    parser.add_argument("--target", type=pathlib.Path, help="where to build",
                        default=os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    options = parser.parse_args()
    texts = read_sources()
    mutants = draw(texts, options.folders or FOLDERS, options.count, options.seed)
    if options.list:
        for number, mutant in enumerate(mutants, 1):
            print(number, mutant.named())
        return 0
    begin = time.monotonic()
    try:
        copy, left = compiling(mutants, texts, pathlib.Path(options.target).resolve())
        print(f"{len(left)} mutants compile ({time.monotonic() - begin:.0f} s)", flush=True)
        tests = all_tests(copy)
        print(f"{len(tests)} tests built ({time.monotonic() - begin:.0f} s)", flush=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            recorded = dict(zip(tests, pool.map(lambda test: record(test, options.seed), tests)))
    except Misfit as misfit:
        print(misfit, file=sys.stderr)
        return 1
    seconds = {test: time_ for test, (time_, _) in recorded.items()}
    print(f"{sum(seconds.values()):.0f} s of tests recorded ({time.monotonic() - begin:.0f} s)",
          flush=True)
    done = {}
    if options.results.exists() and not options.only:
        for line in options.results.read_text().splitlines():
            entry = json.loads(line)
            done[entry["mutant"]] = entry

    def one(number):
        mutant = left[number]
        reaching = [test for test in tests if number in recorded[test][1]]
        reaching.sort(key=seconds.get)
        test, output = try_mutant(number, reaching, seconds, options.seed)
        entry = {"number": number, "mutant": mutant.named(), "tests": len(reaching),
                 "noticed": test and test.named()}
        return entry, output

    wanted = options.only or [n for n in left if left[n].named() not in done]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for entry, output in pool.map(one, wanted):
            done[entry["mutant"]] = entry
            if options.only:
                print(output[-5000:])
            else:
                with options.results.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
            said = entry["noticed"] or (
                "NOT NOTICED" if entry["tests"] else "NOT REACHED by any test")
            print(f"{entry['number']:4} {entry['mutant']}: {said}", flush=True)
    noticed = sum(entry["noticed"] is not None for entry in done.values())
    print(f"{len(mutants)} drawn, {len(mutants) - len(left)} do not compile; {noticed} of "
          f"{len(done)} noticed ({time.monotonic() - begin:.0f} s, seed {options.seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
