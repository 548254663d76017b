"""The kernels for numba, as far as it and its simulator can express them."""

# The simulator finds `cuda` among the globals of a kernel's module.
from numba import cuda, uint32

from cases import CASES


def kernels(mended: bool) -> dict:
    """The kernels by name, or their twins."""

    def fill_one_more(out, n):
        i = cuda.grid(1)
        if i < n if mended else i <= n:
            out[i] = i

    def neighbours_without_halo(x, out):
        tile = cuda.shared.array(65 if mended else 64, uint32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        if mended and t == 0:
            tile[64] = x[64]
        cuda.syncthreads()
        out[t] = tile[t] + tile[t + 1]

    def table_of_four(x, last):
        t = cuda.threadIdx.x
        table = cuda.local.array(4, uint32)
        table[0], table[1], table[2], table[3] = 3, 1, 4, last
        place = x[t]
        if mended:
            place %= 4
        x[t] = table[place]

    def accumulate(x, sums):
        i = cuda.grid(1)
        sums[i] += x[i]

    def sum_of_some(x, out, n):
        tile = cuda.shared.array(64, uint32)
        t = cuda.threadIdx.x
        if t < n:
            tile[t] = x[t]
        elif mended:
            tile[t] = 0
        cuda.syncthreads()
        if t == 0:
            total = 0
            for i in range(64):
                total += int(tile[i])
            out[0] = total & 0xFFFFFFFF

    def double_and_reverse_at_once(x):
        tile = cuda.shared.array(64, uint32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        cuda.syncthreads()
        tile[t] = 2 * tile[t]
        if mended:
            cuda.syncthreads()
        x[t] = tile[63 - t]

    def sum_in_lockstep(x, out):
        sums = cuda.shared.array(64, uint32)
        t = cuda.threadIdx.x
        sums[t] = x[t]
        sums[t + 32] = x[t + 32]
        cuda.syncthreads()
        half = 32
        while half > 0:
            other = sums[t + half]
            # The simulator has no `syncwarp`; the block is one warp.
            if mended:
                cuda.syncthreads()
            if t < half:
                sums[t] += other
            if mended:
                cuda.syncthreads()
            half //= 2
        if t == 0:
            out[0] = sums[0]

    def histogram_without_atomics(x, bins):
        place = x[cuda.grid(1)]
        if mended:
            cuda.atomic.add(bins, place, 1)
        else:
            bins[place] = bins[place] + 1

    def last_block_without_fences(parts, arrived, total):
        i = cuda.grid(1)
        parts[i] = i
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            if mended:
                cuda.threadfence()
            before = cuda.atomic.add(arrived, 0, 1)
            if before + 1 == cuda.gridDim.x:
                if mended:
                    cuda.threadfence()
                summed = 0
                for k in range(32 * cuda.gridDim.x):
                    summed += parts[k]
                total[0] = summed

    def look_back(ticket, state, sums, before):
        tile = cuda.atomic.add(ticket, 0, 1)
        total = 0
        if tile > 0:
            while cuda.atomic.add(state, tile - 1, 0) == 0:
                pass
            if mended:
                cuda.threadfence()
            total = cuda.atomic.add(sums, tile - 1, 0)
        before[tile] = total
        cuda.atomic.exch(sums, tile, total + tile + 1)
        if mended:
            cuda.threadfence()
        cuda.atomic.exch(state, tile, 1)

    def lock_without_fences(lock, total):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        if mended:
            cuda.threadfence()
        before = total[0]
        total[0] = before + 1
        if mended:
            cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)

    def grid_barrier(values, arrived):
        t, block = cuda.threadIdx.x, cuda.blockIdx.x
        if t == 0:
            values[block] = block + 1
            cuda.threadfence()
            cuda.atomic.add(arrived, 0, 1)
            while cuda.atomic.add(arrived, 0, 0) < cuda.gridDim.x:
                pass
            cuda.threadfence()
        cuda.syncthreads()
        if t == 0:
            cuda.atomic.add(arrived, 0, values[(block + 1) % cuda.gridDim.x])

    def barrier_in_branch(x):
        tile = cuda.shared.array(64, uint32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        if mended:
            cuda.syncthreads()
        if t < 32:
            if not mended:
                cuda.syncthreads()
            x[t] = tile[t] + tile[t + 32]

    # As in OpenCL, the changes are counted in the upper half of 32 bits.
    def stack(head, next, taken):
        step = 0x10000 if mended else 0

        def take():
            while True:
                old = int(cuda.atomic.add(head, 0, 0))
                node = old & 0xFFFF
                if node == 0:
                    return 0
                rest = int(cuda.atomic.add(next, node, 0))
                cuda.threadfence()
                new = rest | (old & 0xFFFF0000) + step
                if cuda.atomic.cas(head, 0, old, new) == old:
                    return node

        def put(node):
            while True:
                old = int(cuda.atomic.add(head, 0, 0))
                cuda.atomic.exch(next, node, old & 0xFFFF)
                cuda.threadfence()
                new = node | (old & 0xFFFF0000) + step
                if cuda.atomic.cas(head, 0, old, new) == old:
                    return

        if cuda.threadIdx.x == 0:
            taken[0] = take()
        else:
            first = take()
            taken[1] = take()
            if first != 0:
                put(first)

    def add_one(values):
        values[cuda.threadIdx.x] += 1

    return {name: function for name, function in locals().items() if name in CASES}
