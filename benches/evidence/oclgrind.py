#!/usr/bin/env python3
"""Runs the kernels of kernels.cl under Oclgrind.

    benches/evidence/oclgrind.py --out docs/evidence/oclgrind.json

Needs Oclgrind (Debian's package `oclgrind`), whose OpenCL is called through `ctypes`.
"""

from __future__ import annotations

import ctypes
import re
import sys

import common
from cases import CASES, Fresh

FLAGS = ["--data-races", "--uninitialized", "--uniform-writes", "--check-api", "--max-errors", "3"]
# Kernels that OpenCL 1.2 can't express, and why.
NOT_EXPRESSIBLE = {
    "copy_numbers": "an argument is an object that OpenCL keeps alive, not an address",
    "release_to_the_block": "atomics have no scope in OpenCL 1.2",
    "sum_by_shuffles_of_some": "no shuffles in OpenCL 1.2",
}
# The twins that it can't.
NO_TWIN = {"grid_barrier": "no launch promises that all groups are resident"}

READ_WRITE, COPY = 1, 32
DEVICE_TYPE_ALL, TRUE = 0xFFFFFFFF, 1
BUILD_LOG = 0x1183


class OpenCL:
    """The calls of OpenCL that are needed here."""

    def __init__(self) -> None:
        # Oclgrind loads its OpenCL into each process that it starts.
        self.library = ctypes.CDLL(None)

    def call(self, name: str, *arguments: object) -> None:
        function = getattr(self.library, name)
        function.restype = ctypes.c_int
        status = function(*arguments)
        if status:
            raise RuntimeError(f"{name}: {status}")

    def make(self, name: str, *arguments: object) -> ctypes.c_void_p:
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        status = ctypes.c_int(0)
        made = function(*arguments, ctypes.byref(status))
        if status.value:
            raise RuntimeError(f"{name}: {status.value}")
        return ctypes.c_void_p(made)


def worker(name: str, mended: bool) -> bool:
    """Runs a kernel; whether its result is right."""
    cl = OpenCL()
    platform, device = ctypes.c_void_p(), ctypes.c_void_p()
    cl.call("clGetPlatformIDs", 1, ctypes.byref(platform), None)
    cl.call(
        "clGetDeviceIDs", platform, ctypes.c_uint64(DEVICE_TYPE_ALL), 1, ctypes.byref(device), None
    )
    context = cl.make("clCreateContext", None, 1, ctypes.byref(device), None, None)
    queue, other_queue = (
        cl.make("clCreateCommandQueue", context, device, ctypes.c_uint64(0)) for _ in range(2)
    )
    text = ctypes.c_char_p((common.HERE / "kernels.cl").read_bytes())
    program = cl.make("clCreateProgramWithSource", context, 1, ctypes.byref(text), None)
    options = b"-cl-opt-disable" + (b" -DMENDED" if mended else b"")
    try:
        cl.call("clBuildProgram", program, 1, ctypes.byref(device), options, None, None)
    except RuntimeError as error:
        log = ctypes.create_string_buffer(8192)
        cl.call("clGetProgramBuildInfo", program, device, BUILD_LOG, 8192, log, None)
        raise RuntimeError(log.value.decode()) from error
    kernel = cl.make("clCreateKernel", program, name.encode())

    case = CASES[name]
    given = case.mended if mended and case.mended else case.arguments
    element = ctypes.c_float if name == "accumulate" else ctypes.c_uint
    arguments, arrays = [], []
    for value in given:
        if isinstance(value, int):
            arguments.append(ctypes.c_uint(value))
            arrays.append(None)
            continue
        count = value.len if isinstance(value, Fresh) else len(value)
        array = (element * count)()
        flags = READ_WRITE
        if not isinstance(value, Fresh) and name != "add_one":
            array[:] = value
            flags |= COPY
        size = ctypes.c_size_t(ctypes.sizeof(array))
        source = array if flags & COPY else None
        buffer = cl.make("clCreateBuffer", context, ctypes.c_uint64(flags), size, source)
        arguments.append(buffer)
        arrays.append((array, buffer, size))
    if name == "reads_its_writes_read_only":
        arguments.append(arguments[1])
    for index, argument in enumerate(arguments):
        size = ctypes.c_size_t(ctypes.sizeof(argument))
        cl.call("clSetKernelArg", kernel, index, size, ctypes.byref(argument))

    events, wait = ctypes.c_void_p(), (0, None)
    if name == "add_one":
        # The copy is on one queue, the kernel on another, which waits for it in the twin.
        (array, buffer, size), = arrays
        array[:] = given[0]
        zero = ctypes.c_size_t(0)
        cl.call(
            "clEnqueueWriteBuffer", other_queue, buffer, 0, zero, size, array, 0, None,
            ctypes.byref(events),
        )  # fmt: skip
        if mended:
            wait = (1, ctypes.byref(events))
    sizes = [ctypes.c_size_t(case.blocks * case.threads), ctypes.c_size_t(case.threads)]
    cl.call(
        "clEnqueueNDRangeKernel", queue, kernel, 1, None, *map(ctypes.byref, sizes), *wait, None
    )
    cl.call("clFinish", queue)
    results = []
    for value, array in zip(given, arrays):
        if array is None:
            results.append(value)
            continue
        array, buffer, size = array
        zero = ctypes.c_size_t(0)
        cl.call("clEnqueueReadBuffer", queue, buffer, TRUE, zero, size, array, 0, None, None)
        results.append(list(array))
    return case.is_right(*results)


def report(output: str) -> tuple[str, str]:
    """What Oclgrind has said: its first message, and the line that it names."""
    lines = [line for line in output.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        # A message starts at the margin, and its parts are indented.
        if number + 1 < len(lines) and re.match(r"\s+(Kernel|Entity|Function):", lines[number + 1]):
            place = re.search(r"At line (\d+)", "\n".join(lines[number : number + 12]))
            return "found", line.strip() + (f" (kernels.cl:{place[1]})" if place else "")
    return "nothing", ""


def one(kernel: str, twin: bool) -> dict:
    reason = NOT_EXPRESSIBLE.get(kernel) or (NO_TWIN.get(kernel) if twin else None)
    if reason:
        return common.unexpressed(kernel, twin, reason)
    command = ["oclgrind", *FLAGS, sys.executable, __file__, "--worker", kernel]
    done = common.run(command + (["--mended"] if twin else []))
    output = done.pop("output")
    status, said = report(output)
    result = re.search(r"^result: (\w+)", output, re.MULTILINE)
    if done["exit"] is None and status == "nothing":
        status = "hangs"
    elif not result and status == "nothing":
        raise RuntimeError(f"{kernel}: {output}")
    done["output"] = output[:3000]
    return common.run_of(kernel, twin, status, said, result and result[1], done)


def head() -> dict:
    version = common.run(["oclgrind", "--version"])["output"].split("\n")
    number = next(line.split()[-1] for line in version if "Oclgrind" in line)
    return common.header("Oclgrind", number, time_out=common.TIME_OUT, settings=FLAGS)


if __name__ == "__main__":
    sys.exit(common.main(__doc__.splitlines()[0], worker, head, one))
