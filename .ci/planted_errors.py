#!/usr/bin/env python3
"""Plant errors in the kernels, one by one, and see the emulator's tests report them.

    planted_errors.py [--write]       all errors; --write makes docs/planted-errors.md of the reports
    planted_errors.py --sample [N]    ten of them: the N-th ten, today's if N is left out
    planted_errors.py --only NAME     this one; may be repeated
    planted_errors.py --check         builds nothing: do all errors fit the sources, and the page?

Each error is a change of a few characters in the kernels that are shipped, or in the host's code
that launches them: a barrier taken out, a plain store for an atomic one, a bit that is not carried
to the next word. planted_errors.toml has them; a comment `// planted: NAME` in the sources marks
the line, or the statement, that an error changes. The name is all that ties the two together, so
code may move between files. An error that changes several places has markers NAME.1, NAME.2 ...;
a line that several errors change has one marker with several names.

The sources are copied to a folder in the build's, with all errors in them, each behind a switch
that is off: `if planted::is(17) { new } else { old }`. So there is one build for all, and no error
is in what is shipped. Then each error's test runs with that error switched on, and must fail as
planted_errors.toml says: with a fault of that kind, of that kernel, on that array; or, if it says
`wrong result`, since a comparison failed, which the tests' messages say by the words "not the
CPU's", "not the oracle's" or, of what is read from a file, "not the file's". A crash, a panic
elsewhere or a test that does not end is no detection.

An error may also be planted in the emulator. Then its own tests must miss a fault that they look
for (`fault missed`).

Exit status 1 if an error is not noticed as it should be, or does not fit.
"""

import argparse
import concurrent.futures
import dataclasses
import datetime
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = pathlib.Path(__file__).with_suffix(".toml")
PAGE = ROOT / "docs/planted-errors.md"
# Where markers may be.
SOURCES = ["kernels-gpu/src", "cuda/std/src", "host/src"]
# What a test may take. An error that stops a kernel for good is to be reported, not waited for.
SECONDS = 300
SAMPLE = 10

WRONG = "wrong result"
# What the tests say where a result differs from the CPU's, or what is read from what was written.
COMPARISON = re.compile("not the (CPU|file|oracle)'s")
# What the emulator's own tests, tests/broken_kernels of cuda_std, say where it reports nothing.
MISSED = re.compile(r"panicked at \S*broken_kernels/support\.rs:\d+:\d+:\n"
                    r"(a fault|no schedule shows it)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Error:
    name: str
    # What was done, for the page.
    what: str
    # The test binary, and the test. `PACKAGE::lib` is the binary of the package's unit tests.
    test: str
    # [old, new] for the marker NAME, or for NAME.1, NAME.2 ... in turn. Both are expressions, or
    # both statements; `new` may be empty for a statement that is taken out. White space does not
    # count. If `new` says PLANTED, it replaces `old` whether the error is on or not, and PLANTED
    # is true where it is.
    edits: list
    # What may be reported, as this script prints it: the kind, the kernel, the array. Where there
    # are several, the order of the threads decides, or which case comes first. A `*` stands for
    # part of a name: of kernels that differ in a type or an algorithm alone.
    expected: list

    def expects(self, said):
        patterns = (re.escape(one).replace(r"\*", r"\w*") for one in self.expected)
        return any(re.fullmatch(one, said) for one in patterns)

    def markers(self):
        if len(self.edits) == 1:
            return [self.name]
        return [f"{self.name}.{i + 1}" for i in range(len(self.edits))]


# How a binary of unit tests is called: its package and this.
LIBRARY = "::lib"


class Misfit(Exception):
    """The table and the sources do not fit together."""


def load():
    with open(TABLE, "rb") as file:
        table = tomllib.load(file)
    return [Error(name=name, **fields) for name, fields in table.items()]


# Sources: markers, and what they mark.

MARKER = re.compile(r"^ *// planted: (.*)$", re.MULTILINE)
COMMENT = re.compile(r"\s*//")
FUNCTION = re.compile(r"^ *(?:pub(?:\([\w: ]+\))? )?(?:const )?(?:unsafe )?fn (\w+)", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Place:
    path: str
    # What the marker covers, as offsets in the file.
    start: int
    end: int


def covered(text, after):
    """The statement after a marker that ends at `after`: the lines from the next that is no
    comment to the first that ends with one of `;{},`."""
    start = after + 1
    while COMMENT.match(text, start):
        start = text.index("\n", start) + 1
    at = start
    while True:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if end == len(text) or text[at:end].rstrip()[-1:] in (*";{},",):
            return start, end
        at = end + 1


def find_markers(texts):
    """{name: Place} of all markers."""
    places = {}
    for path, text in texts.items():
        for match in MARKER.finditer(text):
            for name in match[1].split(", "):
                if name in places:
                    raise Misfit(f"the marker {name} is there twice: {places[name].path}, {path}")
                places[name] = Place(path, *covered(text, match.end()))
    return places


def pattern(old):
    """Matches `old` however it is broken into lines."""
    tokens = re.findall(r"\w+|[^\w\s]", old)
    parts = [re.escape(tokens[0])]
    for before, token in zip(tokens, tokens[1:]):
        words = re.match(r"\w", before) and re.match(r"\w", token)
        parts.append((r"\s+" if words else r"\s*") + re.escape(token))
    return re.compile("".join(parts))


@dataclasses.dataclass(frozen=True)
class Change:
    """An edit where it applies."""

    start: int
    end: int
    number: int
    new: str


def find_changes(errors, texts):
    """{path: [Change]} of all errors, and {name: path} of the first place of each; every marker
    must be an error's, and every edit fit once."""
    places = find_markers(texts)
    changes, paths = {}, {}
    for number, error in enumerate(errors, 1):
        for marker, (old, new) in zip(error.markers(), error.edits):
            place = places.pop(marker, None)
            if place is None:
                raise Misfit(f"no comment `// planted: {marker}` in {', '.join(SOURCES)}")
            found = list(pattern(old).finditer(texts[place.path], place.start, place.end))
            if len(found) != 1:
                raise Misfit(f"{marker}: `{old}` is {len(found)} times in what its marker covers, "
                             f"{place.path}:\n{texts[place.path][place.start:place.end]}")
            change = Change(*found[0].span(), number, new)
            changes.setdefault(place.path, []).append(change)
            paths.setdefault(error.name, place.path)
    if places:
        raise Misfit(f"markers of errors that {TABLE.name} does not have: {', '.join(places)}")
    return changes, paths


def switched(text, changes, start, end):
    """`text` from `start` to `end` with the changes in it behind their switches."""
    # What several errors change stands inside the last alternative of the widest.
    changes = sorted(changes, key=lambda c: (c.start, -c.end))
    result, at = [], start
    while changes:
        change, *changes = changes
        inner = [c for c in changes if c.start < change.end]
        changes = changes[len(inner):]
        if any(c.end > change.end for c in inner):
            raise Misfit(f"two errors change overlapping parts of {text[change.start:change.end]}")
        result.append(text[at:change.start])
        old = switched(text, inner, change.start, change.end)
        on = f"::cuda_std::planted::is({change.number})"
        if "PLANTED" in change.new:
            result.append(change.new.replace("PLANTED", on))
        elif old.endswith(";") or old.endswith("}") and not change.new:
            result.append(f"if {on} {{ {change.new} }} else {{ {old} }}")
        else:
            result.append(f"(if {on} {{ {change.new} }} else {{ {old} }})")
        at = change.end
    return "".join(result) + text[at:end]


def not_const(text, before, changes):
    """`text` with the functions that have a switch no longer `const`: it is read when they run.
    `before` is the text without switches, to which the changes' offsets belong."""
    for start in {c.start for c in changes}:
        function = [m for m in FUNCTION.finditer(before, 0, start)][-1:]
        if function and " const " in " " + function[0][0]:
            # All of the file: a constant function calls constant functions.
            return re.sub(r"\bconst (?=(unsafe )?fn\b)", "", text)
    return text


SWITCH = """
/// Which of the planted errors is on, by its number; 0: none.
#[cfg(not(target_arch = "nvptx64"))]
pub mod planted {
    use std::io::Write;
    use std::sync::{LazyLock, Mutex};

    static ON: LazyLock<u32> = LazyLock::new(|| {
        let number = std::env::var("TRAZAR_PLANTED").expect("the script sets it");
        number.parse().expect("a number")
    });
    /// Where the numbers are noted that are asked for, if they are, and which were.
    static REACHED: LazyLock<Option<Mutex<(std::fs::File, Vec<bool>)>>> = LazyLock::new(|| {
        let path = std::env::var_os("TRAZAR_REACHED")?;
        Some(Mutex::new((std::fs::File::create(path).expect("a file"), Vec::new())))
    });

    /// Whether it is this one.
    #[inline]
    pub fn is(number: u32) -> bool {
        if let Some(reached) = &*REACHED {
            note(reached, number);
        }
        *ON == number
    }

    #[cold]
    fn note(reached: &Mutex<(std::fs::File, Vec<bool>)>, number: u32) {
        let (file, seen) = &mut *reached.lock().unwrap_or_else(|e| e.into_inner());
        let at = number as usize;
        seen.resize(seen.len().max(at + 1), false);
        if !std::mem::replace(&mut seen[at], true) {
            let _ = writeln!(file, "{number}");
        }
    }
}
"""


def with_switches(texts, changes, not_const=not_const):
    """`texts` with all changes behind their switches, and without `const` as `not_const` says."""
    texts = dict(texts)
    for path, found in changes.items():
        text = texts[path]
        texts[path] = not_const(switched(text, found, 0, len(text)), text, found)
    texts["cuda/std/src/lib.rs"] += SWITCH
    return texts


def read_sources():
    """{path below the root: text} of what may have markers."""
    texts = {}
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.rs")):
            texts[path.relative_to(ROOT).as_posix()] = path.read_text()
    return texts


# Reports.

FAULT = re.compile(r"kernel `(\w+)`: ([a-z -]+?): (.*?) \(emulator seed ", re.DOTALL)
HOST_READ = re.compile(r"the host reads element \d+ of an emulated buffer of \d+, which nothing")
VIEW = re.compile(
    r"element -?\d+ of (shared_array!\[[^\]]*\]|.+?)(?=[:,]| of | lies | at | belongs | is to )")
# A view that is refused before the launch.
REFUSED = re.compile(r"`([\w.]+)` (?:has|starts at)")
SOURCE = re.compile(r"\bat ((?:[\w.-]+/)*src/[\w/.-]+\.rs):(\d+):\d+")
PANIC = re.compile(r"panicked at ([\w/.-]+\.rs:\d+):\d+:\n(.*)")


def detection(output):
    """How a failed test's output counts, or none; and what the emulator says beyond that."""
    # A test that looks for a fault prints those that it found before it misses one.
    if MISSED.search(output):
        return "fault missed", ""
    if match := FAULT.search(output):
        kernel, kind, rest = match.groups()
        said = f"{kind}: {kernel}"
        if match := VIEW.search(rest) or REFUSED.match(rest):
            said += f", {re.sub(' from byte .*', '', match[1].replace('`', ''))}"
        return said, rest
    if HOST_READ.search(output):
        return "uninitialised read: by the host", ""
    if COMPARISON.search(output):
        return WRONG, ""
    return None, ""


class Copy:
    """A copy of the sources with some of their texts changed, and what was built from it."""

    def __init__(self, target, folder, texts):
        self.target = target
        self.sources = target / folder
        self.texts = texts
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                                 "--exclude-standard"], cwd=ROOT, check=True,
                                stdout=subprocess.PIPE).stdout.decode()
        names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
        old = {path.relative_to(self.sources).as_posix()
               for path in self.sources.rglob("*") if path.is_file()}
        for name in old - names:
            (self.sources / name).unlink()
        for name in names:
            text = texts.get(name)
            self.write(name, (ROOT / name).read_bytes() if text is None else text.encode())

    def write(self, name, content):
        path = self.sources / name
        # What is as it was keeps its time, so that it is not built again.
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def cargo(self, *arguments):
        """Runs cargo on the copy, with what the workspace's own build has left in `target`. Returns
        its exit status and its messages."""
        environment = os.environ | {
            "CARGO_TARGET_DIR": str(self.target),
            "CARGO_INCREMENTAL": "0",
            "CARGO_TERM_COLOR": "never",
        }
        command = ["cargo", arguments[0], "--quiet", "--locked",
                   "--message-format", "json", *arguments[1:]]
        # What the workspace depends on stays as it is. Its members get another number of units:
        # where they are built alike, cargo takes the copy's for the workspace's, and then misses
        # changes of the workspace's sources.
        members = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["members"]
        for package in [package_of(ROOT / member) for member in [".", *members]]:
            command += ["--config", f"profile.test.package.{package}.codegen-units=3"]
        done = subprocess.run(command, cwd=self.sources, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        messages = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
        return done.returncode, messages, done.stderr

    def build(self, arguments):
        """Builds tests. Returns [(binary's name, executable, folder to run it in)]."""
        status, messages, stderr = self.cargo("test", "--no-run", *arguments)
        if status:
            said = [message["message"]["rendered"] for message in messages
                    if message["reason"] == "compiler-message"
                    and message["message"]["level"] == "error"]
            raise Misfit("the changed sources do not compile:\n" + "".join(said) + stderr)
        built = []
        for message in messages:
            if not message.get("executable") or not message["profile"]["test"]:
                continue
            folder, target = pathlib.Path(message["manifest_path"]).parent, message["target"]
            library = "lib" in target["kind"]
            binary = package_of(folder) + LIBRARY if library else target["name"]
            built.append((binary, message["executable"], folder))
        return built

    @staticmethod
    def run(executable, folder, name, number, seed, seconds=SECONDS, **variables):
        """A test's exit status (none if it took too long) and output, with one error on."""
        environment = os.environ | {
            "TRAZAR_PLANTED": str(number),
            "TRAZAR_SEED": str(seed),
            # The first failing image will do.
            "PROPTEST_MAX_SHRINK_ITERS": "0",
            "RUST_BACKTRACE": "0",
        } | variables
        process = subprocess.Popen(
            [executable, name, "--exact", "--test-threads", "1"], cwd=folder, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True)
        try:
            output, _ = process.communicate(timeout=seconds)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, output


class Planter(Copy):
    """A copy of the sources with all errors in it, and what was built from it."""

    def __init__(self, errors, target):
        texts = read_sources()
        changes, self.paths = find_changes(errors, texts)
        super().__init__(target, "planted", with_switches(texts, changes))
        self.executables = {}

    def build_tests(self, binaries):
        libraries = sorted(binary for binary in binaries if binary.endswith(LIBRARY))
        tests = sorted(binaries - set(libraries))
        commands = [["--package", library.removesuffix(LIBRARY), "--lib"] for library in libraries]
        if tests:
            commands.append([part for test in tests for part in ("--test", test)])
        for arguments in commands:
            for name, executable, folder in self.build(arguments):
                self.executables[name] = executable, folder

    def run_test(self, test, number, seed):
        binary, name = test.split()
        return self.run(*self.executables[binary], name, number, seed)

    def functions(self, rest):
        """The functions that a fault's lines are in."""
        names = []
        for path, line in SOURCE.findall(rest):
            found = [full for full in self.texts if full.endswith("/" + path) or full == path]
            if len(found) == 1:
                lines = self.texts[found[0]].splitlines()[: int(line)]
                if match := FUNCTION.findall("\n".join(lines)):
                    names.append(match[-1])
        return list(dict.fromkeys(names))[:2]

    def plant(self, number, error, seed):
        """Whether the error was noticed as it should be, what was said, and all there is to say."""
        status, output = self.run_test(error.test, number, seed)
        if status is None:
            return False, f"{error.test} was not done after {SECONDS} s", output
        if not re.search("^running [1-9]", output, re.MULTILINE):
            return False, f"there is no test {error.test}", output
        if status == 0:
            return False, "NOT NOTICED", output
        if status < 0:
            return False, f"CRASH: signal {-status}", output
        said, rest = detection(output)
        if said is None:
            where = PANIC.search(output)
            where = f" at {where[1]}: {where[2]}" if where else ""
            return False, f"PANIC that is no detection{where}", output
        if not error.expects(said):
            return False, f"{said}; EXPECTED: {' | '.join(error.expected)}", output
        if functions := self.functions(rest):
            said += f", in {' and '.join(functions)}"
        return True, said, output


# The page.

HEADER = """# Planted errors

Does the emulator notice errors in these kernels? `.ci/planted_errors.py` plants them in a copy of
the sources, one at a time, and runs a test that must fail; this table is what it wrote (`--write`).
A comment `// planted: NAME` in the sources marks the line that the error NAME changes: nothing is
planted there in what is shipped. `.ci/planted_errors.toml` says what becomes of it, which test is
to notice, and what that test must report.

A fault is the emulator's report: its kind, the kernel, the array, and the functions of the
accesses. A wrong result is one that differs from the CPU's; of a reader, from what a test wrote
into the file.

"""
ROW = re.compile(r"^\| `([\w-]+)` \| (.*?) \|", re.MULTILINE)


def page(results, paths):
    kinds = {}
    for _, said in results:
        kind = said.split(":")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    by_kind = ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items(), key=lambda k: -k[1]))
    by_kind = by_kind[0].upper() + by_kind[1:]
    rows = []
    for error, said in results:
        kind, _, rest = said.partition(": ")
        names = rest and ": " + ", ".join(f"`{part}`" for part in rest.split(", in ")[0].split(", "))
        if ", in " in said:
            functions = said.split(", in ")[1].split(" and ")
            names += ", in " + " and ".join(f"`{name}`" for name in functions)
        names = names.replace("`by the host`", "by the host")
        where = paths[error.name].removeprefix("kernels-gpu/src/")
        rows.append(f"| `{error.name}` | {error.what} | `{where}` | {kind}{names} |\n")
    return (f"{HEADER}{len(results)} errors, all noticed. {by_kind}.\n\n"
            "| error | what it does | in | reported |\n| --- | --- | --- | --- |\n" + "".join(rows))


def check(errors):
    """All that needs no build. Says what is wrong, if something is."""
    texts = read_sources()
    check_misfits(errors, texts)
    find_changes(errors, texts)
    if unknown := sorted({error.test for error in errors} - known_tests()):
        raise Misfit(f"no such tests: {', '.join(unknown)}")
    for error in errors:
        if not error.expected:
            raise Misfit(f"{error.name}: nothing is expected")
    rows = ROW.findall(PAGE.read_text())
    if rows != [(error.name, error.what) for error in errors]:
        raise Misfit(f"{PAGE.relative_to(ROOT)} is of other errors: `.ci/planted_errors.py "
                     "--write` plants all and writes it")
    print(f"{len(errors)} errors fit the sources, their tests and {PAGE.relative_to(ROOT)}")


def check_misfits(errors, texts):
    """A marker that is gone, there twice, or of nothing, and code that has changed are seen."""
    error = next(error for error in errors if len(error.edits) == 1)
    line = next(match[0] for text in texts.values() for match in MARKER.finditer(text)
                if match[1] == error.name)
    path = next(path for path, text in texts.items() if line in text)
    spoilt = {
        "gone": texts[path].replace(line, ""),
        "twice": texts[path] + line + "\n",
        "of nothing": texts[path] + "// planted: no-such-error\nreturn;\n",
        "before other code": texts[path].replace(line, line + "\nother(code);"),
    }
    for what, text in spoilt.items():
        try:
            find_changes(errors, texts | {path: text})
        except Misfit:
            continue
        raise Misfit(f"a marker that is {what} goes unnoticed: this script is wrong")


def package_of(folder):
    """The name of the package in a folder."""
    return tomllib.loads((folder / "Cargo.toml").read_text())["package"]["name"]


def known_tests():
    """All tests, as `binary name`."""
    tests = set()
    for manifest in [*ROOT.glob("*/Cargo.toml"), *ROOT.glob("*/*/Cargo.toml")]:
        source, binary = manifest.parent / "src", package_of(manifest.parent) + LIBRARY
        tests |= {f"{binary} {name}" for path in source.rglob("*.rs")
                  for name in unit_tests(path.relative_to(source), path.read_text())}
    for path in [*ROOT.glob("tests/**/*.rs"), *ROOT.glob("*/tests/**/*.rs"),
                 *ROOT.glob("*/*/tests/**/*.rs")]:
        below = path.relative_to(ROOT).with_suffix("").parts
        binary, *modules = below[below.index("tests") + 1:]
        modules = [module for module in modules if module != "main"]
        for name in re.findall(r"#\[test\]\n(?:#\[.*\]\n)*fn (\w+)", path.read_text()):
            tests.add(f"{binary} {'::'.join([*modules, name])}")
    return tests | {f"on_emulator {name}" for name in suite_tests()}


def suite_tests():
    """The cases of the devices' suite, as its table of contents has them."""
    text = (ROOT / "tests/devices/mod.rs").read_text()
    contents = text[text.index("@modules $device;"):text.index("(@modules $device:ty;")]
    for module, cases in re.findall(r"(\w+) \{([\w\s]+)\}", contents):
        yield from (f"{module}::{case}" for case in cases.split())


def unit_tests(path, text):
    """The unit tests of a library's file: the modules that its path names, those around each test
    in the file, and the test."""
    modules = [part for part in path.with_suffix("").parts if part not in ("lib", "mod")]
    for test in re.finditer(r"^( *)#\[test\]\n(?: *#\[.*\]\n)*\1fn (\w+)", text, re.MULTILINE):
        depths = range(0, len(test[1]), 4)
        around = [re.findall(rf"^ {{{depth}}}mod (\w+) {{$", text[:test.start()], re.MULTILINE)
                  for depth in depths]
        yield "::".join([*modules, *(found[-1] for found in around if found), test[2]])


def sample_of(errors, number):
    """The `number`-th ten in an order that mixes families; after the last ones come the first."""
    mixed = list(errors)
    random.Random(0).shuffle(mixed)
    start = number * SAMPLE % len(mixed)
    chosen = {error.name for error in (mixed + mixed)[start:start + SAMPLE]}
    return [error for error in errors if error.name in chosen]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="plant this error alone")
    parser.add_argument("--sample", type=int, nargs="?", metavar="N",
                        const=datetime.date.today().toordinal(), help="plant ten errors")
    parser.add_argument("--check", action="store_true", help="whether all fits; builds nothing")
    parser.add_argument("--write", action="store_true", help="write the page, if all are noticed")
    parser.add_argument("--list", action="store_true", help="name the errors, plant none")
    parser.add_argument("--seed", type=int, default=1, help="the tests' TRAZAR_SEED")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at a time")
    parser.add_argument("--target", type=pathlib.Path, help="where to build",
                        default=os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    options = parser.parse_args()
    begin = time.monotonic()
    all_errors = load()
    errors = all_errors
    if unknown := set(options.only or []) - {error.name for error in errors}:
        parser.error(f"no errors called {', '.join(sorted(unknown))}: see --list")
    if options.only:
        errors = [error for error in errors if error.name in options.only]
    elif options.sample is not None:
        errors = sample_of(errors, options.sample)
        print(f"sample {options.sample}: repeat it with --sample {options.sample}", flush=True)
    if options.write and len(errors) < len(all_errors):
        parser.error("the page has all errors: --write goes without --only and --sample")
    if options.list:
        for error in errors:
            print(f"{error.name:26} {error.what}")
        return 0
    try:
        if options.check:
            check(all_errors)
            return 0
        planter = Planter(all_errors, pathlib.Path(options.target).resolve())
        planter.build_tests({error.test.split()[0] for error in errors})
    except Misfit as misfit:
        print(misfit, file=sys.stderr)
        return 1
    print(f"built with {len(all_errors)} errors ({time.monotonic() - begin:.0f} s)", flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        # Without an error, tests pass. (A sample leaves that to whoever runs all tests anyway.)
        if options.sample is None:
            tests = sorted({error.test for error in errors})
            clean = pool.map(lambda test: planter.run_test(test, 0, options.seed), tests)
            for test, (status, output) in zip(tests, clean):
                if status != 0:
                    print(f"{output}\n{test} fails without any error (or takes {SECONDS} s)")
                    return 1
            print(f"{len(tests)} tests pass without an error "
                  f"({time.monotonic() - begin:.0f} s)", flush=True)

        def one(error):
            start = time.monotonic()
            number = all_errors.index(error) + 1
            return *planter.plant(number, error, options.seed), time.monotonic() - start

        results, failures = [], []
        for error, (noticed, said, output, seconds) in zip(errors, pool.map(one, errors)):
            print(f"{error.name:26} {error.what}: {said} ({seconds:.0f} s)", flush=True)
            if noticed:
                results.append((error, said))
            else:
                failures.append((error, said, output))
    for error, said, output in failures:
        print(f"\n{error.name}: {said}\n{error.test} with it:\n{output[-6000:]}")
    print(f"{len(errors)} errors, {len(results)} noticed as they should be, {len(failures)} not, "
          f"in {time.monotonic() - begin:.0f} s (tests' seed {options.seed})")
    if options.write and not failures:
        PAGE.write_text(page(results, planter.paths))
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
