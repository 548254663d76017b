// Twenty of the broken kernels of cuda/std/tests, and their repaired twins, in CUDA C++.
//
//     evidence NAME          runs the broken kernel
//     evidence NAME mended   runs its twin
//     evidence --list        prints the names
//     evidence --blocks N    runs a correct kernel of N blocks, and prints how long it took
//
// Each kernel does what the Rust kernel of that name does, with the same launch and the same data.
// The program says whether the result is right, and ends with 0 if it is, 1 if it is not, and 2
// after an error of CUDA. Built by benches/evidence/build.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <cuda/atomic>
#include <cuda_runtime.h>

using u32 = unsigned int;
using u64 = unsigned long long;
using Values = std::vector<u32>;

template <class T>
using DeviceAtomic = cuda::atomic_ref<T, cuda::thread_scope_device>;
template <class T>
using BlockAtomic = cuda::atomic_ref<T, cuda::thread_scope_block>;

constexpr auto RELAXED = cuda::std::memory_order_relaxed;
constexpr auto ACQUIRE = cuda::std::memory_order_acquire;
constexpr auto RELEASE = cuda::std::memory_order_release;
constexpr u32 ALL_LANES = 0xffffffff;

// The host's side.

static void check(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        std::printf("CUDA error: %s: %s\n", what, cudaGetErrorString(error));
        std::exit(2);
    }
}

template <class T>
struct Buffer {
    T *data = nullptr;
    size_t len;

    explicit Buffer(size_t len) : len(len) {
        check(cudaMalloc(&data, len * sizeof(T)), "cudaMalloc");
    }
    explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) {
        check(cudaMemcpy(data, values.data(), len * sizeof(T), cudaMemcpyHostToDevice), "upload");
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() { cudaFree(data); }

    std::vector<T> values() const {
        std::vector<T> values(len);
        check(cudaDeviceSynchronize(), "kernel");
        check(cudaMemcpy(values.data(), data, len * sizeof(T), cudaMemcpyDeviceToHost), "download");
        return values;
    }
};

static Values zeros(size_t n) { return Values(n, 0); }

static Values counted(size_t n, u32 first = 0) {
    Values values(n);
    std::iota(values.begin(), values.end(), first);
    return values;
}

static Values mapped(size_t n, const std::function<u32(u32)> &f) {
    Values values(n);
    for (u32 i = 0; i < n; i++)
        values[i] = f(i);
    return values;
}

// 1. Out of bounds in global memory: `<=` where `<` is right.

template <bool MENDED>
__global__ void fill_one_more(u32 *out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (MENDED ? i < n : i <= n)
        out[i] = i;
}

template <bool MENDED>
static bool run_fill_one_more() {
    Buffer<u32> out(100);
    fill_one_more<MENDED><<<2, 64>>>(out.data, 100);
    return out.values() == counted(100);
}

// 2. Out of bounds in shared memory: a tile without room for the last thread's neighbour.

template <bool MENDED>
__global__ void neighbours_without_halo(const u32 *x, u32 *out) {
    __shared__ u32 tile[MENDED ? 65 : 64];
    u32 t = threadIdx.x;
    tile[t] = x[t];
    if (MENDED && t == 0)
        tile[64] = x[64];
    __syncthreads();
    out[t] = tile[t] + tile[t + 1];
}

template <bool MENDED>
static bool run_neighbours_without_halo() {
    Buffer<u32> x(counted(65)), out(64);
    neighbours_without_halo<MENDED><<<1, 64>>>(x.data, out.data);
    return out.values() == mapped(64, [](u32 t) { return 2 * t + 1; });
}

// 3. Out of bounds in local memory: an index past a thread's own array of four.

// Not inlined, or the compiler keeps so small a table in registers.
__device__ __noinline__ u32 look_up(const u32 *table, u32 place) {
    return table[place];
}

template <bool MENDED>
__global__ void table_of_four(u32 *x, u32 last) {
    u32 t = threadIdx.x;
    u32 table[4] = {3, 1, 4, last};
    u32 place = x[t];
    if (MENDED)
        place %= 4;
    x[t] = look_up(table, place);
}

template <bool MENDED>
static bool run_table_of_four() {
    Values places = mapped(32, [](u32 i) { return i % 4; });
    places[7] = 4;
    Buffer<u32> x(places);
    table_of_four<MENDED><<<1, 32>>>(x.data, 1);
    const u32 table[4] = {3, 1, 4, 1};
    return x.values() == mapped(32, [&](u32 i) { return table[i == 7 ? 0 : i % 4]; });
}

// 4. Misaligned: a load of two elements from every place instead of every second.

template <bool MENDED>
__global__ void pairs_at_odd_places(const u32 *x, u32 *out) {
    u32 t = threadIdx.x;
    uint2 pair = *reinterpret_cast<const uint2 *>(x + (MENDED ? 2 * t : t));
    out[t] = pair.x + pair.y;
}

template <bool MENDED>
static bool run_pairs_at_odd_places() {
    Buffer<u32> x(counted(64)), out(32);
    pairs_at_odd_places<MENDED><<<1, 32>>>(x.data, out.data);
    return out.values() == mapped(32, [](u32 t) { return (MENDED ? 4 : 2) * t + 1; });
}

// 5. Memory that the host has freed.

__global__ void copy_numbers(const u32 *x, u32 *out) {
    out[threadIdx.x] = x[threadIdx.x];
}

template <bool MENDED>
static bool run_copy_numbers() {
    Buffer<u32> out(32);
    auto *x = new Buffer<u32>(Values(32, 1));
    const u32 *address = x->data;
    if (!MENDED)
        delete x;
    copy_numbers<<<1, 32>>>(address, out.data);
    bool right = out.values() == Values(32, 1);
    if (MENDED)
        delete x;
    return right;
}

// 6. Uninitialised global memory: sums that the host did not clear.

__global__ void accumulate(const float *x, float *sums) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[i] += x[i];
}

template <bool MENDED>
static bool run_accumulate() {
    Buffer<float> x(std::vector<float>(64, 1.5f)), sums(64);
    if (MENDED)
        check(cudaMemset(sums.data, 0, 64 * sizeof(float)), "cudaMemset");
    accumulate<<<2, 32>>>(x.data, sums.data);
    return sums.values() == std::vector<float>(64, 1.5f);
}

// 7. Uninitialised shared memory: a sum of 64 elements, of which 40 are written.

template <bool MENDED>
__global__ void sum_of_some(const u32 *x, u32 *out, u32 n) {
    __shared__ u32 tile[64];
    u32 t = threadIdx.x;
    if (t < n)
        tile[t] = x[t];
    else if (MENDED)
        tile[t] = 0;
    __syncthreads();
    if (t == 0) {
        u32 sum = 0;
        for (u32 i = 0; i < 64; i++)
            sum += tile[i];
        out[0] = sum;
    }
}

template <bool MENDED>
static bool run_sum_of_some() {
    Buffer<u32> x(Values(40, 1)), out(1);
    sum_of_some<MENDED><<<1, 64>>>(x.data, out.data, 40);
    return out.values() == Values{40};
}

// 8. Race between the warps of a block: no barrier between writing and reading.

template <bool MENDED>
__global__ void double_and_reverse_at_once(u32 *x) {
    __shared__ u32 tile[64];
    u32 t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    tile[t] = 2 * tile[t];
    if (MENDED)
        __syncthreads();
    x[t] = tile[63 - t];
}

template <bool MENDED>
static bool run_double_and_reverse_at_once() {
    Buffer<u32> x(counted(64));
    double_and_reverse_at_once<MENDED><<<1, 64>>>(x.data);
    return x.values() == mapped(64, [](u32 t) { return 2 * (63 - t); });
}

// 9. Race within a warp that is taken to run in lockstep.

template <bool MENDED>
__global__ void sum_in_lockstep(const u32 *x, u32 *out) {
    __shared__ u32 sums[64];
    u32 t = threadIdx.x;
    sums[t] = x[t];
    sums[t + 32] = x[t + 32];
    __syncthreads();
    for (u32 half = 32; half > 0; half /= 2) {
        u32 other = sums[t + half];
        if (MENDED)
            __syncwarp();
        if (t < half)
            sums[t] += other;
        if (MENDED)
            __syncwarp();
    }
    if (t == 0)
        out[0] = sums[0];
}

template <bool MENDED>
static bool run_sum_in_lockstep() {
    Buffer<u32> x(counted(64)), out(1);
    sum_in_lockstep<MENDED><<<1, 32>>>(x.data, out.data);
    return out.values() == Values{64 * 63 / 2};
}

// 10. Race between blocks in global memory: a count by a load and a store.

template <bool MENDED>
__global__ void histogram_without_atomics(const u32 *x, u32 *bins) {
    u32 bin = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (MENDED)
        atomicAdd(&bins[bin], 1);
    else
        bins[bin] = bins[bin] + 1;
}

template <bool MENDED>
static bool run_histogram_without_atomics() {
    Buffer<u32> x(mapped(64, [](u32 i) { return (5 * i + 3) % 32; })), bins(zeros(32));
    histogram_without_atomics<MENDED><<<2, 32>>>(x.data, bins.data);
    return bins.values() == Values(32, 2);
}

// 11. Missing fences: the last block to arrive sums what all blocks have written.

template <bool MENDED>
__global__ void last_block_without_fences(u32 *parts, u32 *arrived, u32 *sum) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    parts[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        if (MENDED)
            __threadfence();
        u32 before = atomicAdd(arrived, 1);
        if (before + 1 == gridDim.x) {
            if (MENDED)
                __threadfence();
            u32 total = 0;
            for (u32 k = 0; k < 32 * gridDim.x; k++)
                total += parts[k];
            *sum = total;
        }
    }
}

template <bool MENDED>
static bool run_last_block_without_fences() {
    Buffer<u32> parts(zeros(128)), arrived(zeros(1)), sum(1);
    last_block_without_fences<MENDED><<<4, 32>>>(parts.data, arrived.data, sum.data);
    return sum.values() == Values{128 * 127 / 2};
}

// 12. Scope too narrow: a message to another block, released to the own block only.

template <bool MENDED>
__global__ void release_to_the_block(u32 *data, u32 *flag, u32 *out) {
    if (blockIdx.x == 0) {
        *data = 42;
        if (MENDED)
            DeviceAtomic<u32>(*flag).store(1, RELEASE);
        else
            BlockAtomic<u32>(*flag).store(1, RELEASE);
    } else {
        while (DeviceAtomic<u32>(*flag).load(ACQUIRE) == 0) {
        }
        *out = *data;
    }
}

template <bool MENDED>
static bool run_release_to_the_block() {
    Buffer<u32> data(zeros(1)), flag(zeros(1)), out(1);
    release_to_the_block<MENDED><<<2, 1>>>(data.data, flag.data, out.data);
    return out.values() == Values{42};
}

// 13. Stale look-back: state and sum of a block in two words, by relaxed atomics without fences.

template <bool MENDED>
__global__ void look_back(u32 *ticket, u32 *state, u32 *sums, u32 *before) {
    u32 tile = atomicAdd(ticket, 1);
    u32 sum = 0;
    if (tile > 0) {
        while (DeviceAtomic<u32>(state[tile - 1]).load(RELAXED) == 0) {
        }
        if (MENDED)
            __threadfence();
        sum = DeviceAtomic<u32>(sums[tile - 1]).load(RELAXED);
    }
    before[tile] = sum;
    DeviceAtomic<u32>(sums[tile]).store(sum + tile + 1, RELAXED);
    if (MENDED)
        __threadfence();
    DeviceAtomic<u32>(state[tile]).store(1, RELAXED);
}

template <bool MENDED>
static bool run_look_back() {
    Buffer<u32> ticket(zeros(1)), state(zeros(6)), sums(zeros(6)), before(6);
    look_back<MENDED><<<6, 1>>>(ticket.data, state.data, sums.data, before.data);
    return before.values() == Values{0, 1, 3, 6, 10, 15};
}

// 14. A lock that orders nothing: no fence after it is taken, nor before it is given back.

template <bool MENDED>
__global__ void lock_without_fences(u32 *lock, u32 *total) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    if (MENDED)
        __threadfence();
    u32 before = *total;
    *total = before + 1;
    if (MENDED)
        __threadfence();
    atomicExch(lock, 0);
}

template <bool MENDED>
static bool run_lock_without_fences() {
    Buffer<u32> lock(zeros(1)), total(zeros(1));
    lock_without_fences<MENDED><<<3, 1>>>(lock.data, total.data);
    return total.values() == Values{3};
}

// 15. A home-made grid barrier of more blocks than can be resident: a deadlock. The twin is a
// cooperative launch of blocks that are.

__global__ void grid_barrier(u32 *values, u32 *arrived) {
    u32 t = threadIdx.x, block = blockIdx.x;
    if (t == 0) {
        values[block] = block + 1;
        __threadfence();
        atomicAdd(arrived, 1);
        while (DeviceAtomic<u32>(*arrived).load(RELAXED) < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    if (t == 0)
        atomicAdd(arrived, values[(block + 1) % gridDim.x]);
}

template <bool MENDED>
static bool run_grid_barrier() {
    u32 blocks = 4;
    if (!MENDED) {
        int per_processor = 0, processors = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, grid_barrier, 32, 0),
              "occupancy");
        check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "processors");
        blocks = 2 * per_processor * processors;
    }
    Buffer<u32> values(blocks), arrived(zeros(1));
    if (MENDED) {
        void *arguments[] = {&values.data, &arrived.data};
        check(cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(grid_barrier), dim3(blocks),
                                          dim3(32), arguments, 0, nullptr),
              "launch");
    } else {
        grid_barrier<<<blocks, 32>>>(values.data, arrived.data);
    }
    return arrived.values() == Values{blocks + blocks * (blocks + 1) / 2};
}

// 16. Divergent barrier: half of the block does not reach it.

template <bool MENDED>
__global__ void barrier_in_branch(u32 *x) {
    __shared__ u32 tile[64];
    u32 t = threadIdx.x;
    tile[t] = x[t];
    if (MENDED)
        __syncthreads();
    if (t < 32) {
        if (!MENDED)
            __syncthreads();
        x[t] = tile[t] + tile[t + 32];
    }
}

template <bool MENDED>
static bool run_barrier_in_branch() {
    Buffer<u32> x(Values(64, 1));
    barrier_in_branch<MENDED><<<1, 64>>>(x.data);
    return x.values() == mapped(64, [](u32 t) { return t < 32 ? 2u : 1u; });
}

// 17. Wrong shuffle: lanes read from lanes that the mask does not name.

template <bool MENDED>
__global__ void sum_by_shuffles_of_some(const u32 *x, u32 *out, u32 n) {
    u32 lane = threadIdx.x;
    if (MENDED) {
        u32 sum = lane < n ? x[lane] : 0;
        for (u32 step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(ALL_LANES, sum, step);
        if (lane == 0)
            out[0] = sum;
    } else if (lane < n) {
        u32 mask = (1u << n) - 1;
        u32 sum = x[lane];
        for (u32 step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(mask, sum, step);
        if (lane == 0)
            out[0] = sum;
    }
}

template <bool MENDED>
static bool run_sum_by_shuffles_of_some() {
    Buffer<u32> x(counted(32, 1)), out(1);
    sum_by_shuffles_of_some<MENDED><<<1, 32>>>(x.data, out.data, 20);
    return out.values() == Values{210};
}

// 18. A load through the read-only cache of what the kernel has written.

template <bool MENDED>
__global__ void reads_its_writes_read_only(u32 *x, u32 *scratch) {
    u32 t = threadIdx.x;
    scratch[t] = x[t];
    __syncthreads();
    x[t] = MENDED ? scratch[63 - t] : __ldg(&scratch[63 - t]);
}

template <bool MENDED>
static bool run_reads_its_writes_read_only() {
    Buffer<u32> x(counted(64)), scratch(64);
    reads_its_writes_read_only<MENDED><<<1, 64>>>(x.data, scratch.data);
    return x.values() == mapped(64, [](u32 t) { return 63 - t; });
}

// 19. ABA: a stack's head is the same node again, but its successor is another one. The twin counts
// changes in the head's upper half.

template <bool MENDED>
struct Stack {
    u64 *head;
    u32 *next;
    static constexpr u64 STEP = MENDED ? 1ull << 32 : 0;
    static constexpr u64 CHANGES = ~0xffffffffull;

    __device__ u32 take() {
        for (;;) {
            u64 old = DeviceAtomic<u64>(*head).load(ACQUIRE);
            u32 node = u32(old);
            if (node == 0)
                return 0;
            u32 rest = DeviceAtomic<u32>(next[node]).load(RELAXED);
            __threadfence();
            if (atomicCAS(head, old, u64(rest) | ((old & CHANGES) + STEP)) == old)
                return node;
        }
    }

    __device__ void put(u32 node) {
        for (;;) {
            u64 old = DeviceAtomic<u64>(*head).load(RELAXED);
            DeviceAtomic<u32>(next[node]).store(u32(old), RELAXED);
            __threadfence();
            if (atomicCAS(head, old, u64(node) | ((old & CHANGES) + STEP)) == old)
                return;
        }
    }
};

template <bool MENDED>
__global__ void stack(u64 *head, u32 *next, u32 *taken) {
    Stack<MENDED> stack{head, next};
    if (threadIdx.x == 0) {
        taken[0] = stack.take();
    } else {
        u32 first = stack.take();
        taken[1] = stack.take();
        if (first != 0)
            stack.put(first);
    }
}

template <bool MENDED>
static bool run_stack() {
    Buffer<u64> head(std::vector<u64>{1});
    Buffer<u32> next(Values{0, 2, 3, 0}), taken(zeros(2));
    stack<MENDED><<<1, 2>>>(head.data, next.data, taken.data);
    Values nodes = taken.values(), links = next.values();
    for (u32 node = u32(head.values()[0]); node != 0 && nodes.size() < 6; node = links[node])
        nodes.push_back(node);
    u32 seen[4] = {0, 0, 0, 0};
    for (u32 node : nodes)
        if (node < 4)
            seen[node]++;
    return nodes.size() == 3 && seen[1] == 1 && seen[2] == 1 && seen[3] == 1;
}

// 20. A stream that does not wait for another one's copy to the buffer that its kernel changes.

__global__ void add_one(u32 *values) {
    values[threadIdx.x] += 1;
}

template <bool MENDED>
static bool run_add_one() {
    cudaStream_t first, second;
    cudaEvent_t written;
    check(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), "stream");
    check(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), "stream");
    check(cudaEventCreate(&written), "event");
    Values ones(32, 1);
    u32 *values = nullptr;
    check(cudaMallocAsync(&values, 32 * sizeof(u32), first), "cudaMallocAsync");
    check(cudaMemcpyAsync(values, ones.data(), 32 * sizeof(u32), cudaMemcpyHostToDevice, first),
          "upload");
    check(cudaEventRecord(written, first), "record");
    if (MENDED)
        check(cudaStreamWaitEvent(second, written, 0), "wait");
    add_one<<<1, 32, 0, second>>>(values);
    check(cudaStreamSynchronize(second), "kernel");
    Values result(32);
    check(cudaMemcpyAsync(result.data(), values, 32 * sizeof(u32), cudaMemcpyDeviceToHost, second),
          "download");
    check(cudaStreamSynchronize(second), "download");
    check(cudaFreeAsync(values, second), "cudaFreeAsync");
    check(cudaDeviceSynchronize(), "end");
    return result == Values(32, 2);
}

// A correct kernel of many blocks: how long do tools take? cuda/std/benches/emulator.rs has it too.

__global__ void reverse_tiles(const u32 *x, u32 *out) {
    __shared__ u32 tile[64];
    u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = x[i];
    __syncthreads();
    out[i] = tile[63 - t];
}

static bool run_reverse_tiles(u32 blocks) {
    Buffer<u32> x(counted(64 * size_t(blocks))), out(64 * size_t(blocks));
    cudaEvent_t start, end;
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&end), "event");
    check(cudaEventRecord(start), "record");
    reverse_tiles<<<blocks, 64>>>(x.data, out.data);
    check(cudaEventRecord(end), "record");
    check(cudaEventSynchronize(end), "kernel");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, end), "time");
    std::printf("kernel: %.6f s\n", milliseconds / 1000);
    return out.values() == mapped(64 * blocks, [](u32 i) { return i / 64 * 64 + 63 - i % 64; });
}

struct Runs {
    bool (*broken)();
    bool (*mended)();
};

#define RUNS(name) {#name, {run_##name<false>, run_##name<true>}}

int main(int count, char **arguments) {
    const std::vector<std::pair<std::string, Runs>> all = {
        RUNS(fill_one_more),
        RUNS(neighbours_without_halo),
        RUNS(table_of_four),
        RUNS(pairs_at_odd_places),
        RUNS(copy_numbers),
        RUNS(accumulate),
        RUNS(sum_of_some),
        RUNS(double_and_reverse_at_once),
        RUNS(sum_in_lockstep),
        RUNS(histogram_without_atomics),
        RUNS(last_block_without_fences),
        RUNS(release_to_the_block),
        RUNS(look_back),
        RUNS(lock_without_fences),
        RUNS(grid_barrier),
        RUNS(barrier_in_branch),
        RUNS(sum_by_shuffles_of_some),
        RUNS(reads_its_writes_read_only),
        RUNS(stack),
        RUNS(add_one),
    };
    if (count == 2 && !std::strcmp(arguments[1], "--list")) {
        for (auto &[name, runs] : all)
            std::printf("%s\n", name.c_str());
        return 0;
    }
    if (count == 3 && !std::strcmp(arguments[1], "--blocks")) {
        bool right = run_reverse_tiles(std::atoi(arguments[2]));
        std::printf("result: %s\n", right ? "right" : "wrong");
        return right ? 0 : 1;
    }
    bool mended = count == 3 && !std::strcmp(arguments[2], "mended");
    for (auto &[name, runs] : all) {
        if (count >= 2 && name == arguments[1] && (count == 2 || mended)) {
            bool right = mended ? runs.mended() : runs.broken();
            check(cudaGetLastError(), "launch");
            std::printf("result: %s\n", right ? "right" : "wrong");
            return right ? 0 : 1;
        }
    }
    std::fprintf(stderr, "evidence NAME [mended], or evidence --list\n");
    return 3;
}
