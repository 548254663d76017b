// The twenty kernels in OpenCL C 1.2, as far as it can express them, for Oclgrind; with MENDED
// defined, their twins. oclgrind.py is their host, and says which are not here and why.

#ifdef MENDED
#define BROKEN_OR_MENDED(broken, mended) mended
#else
#define BROKEN_OR_MENDED(broken, mended) broken
#endif
#define IF_MENDED(code) BROKEN_OR_MENDED(, code)

kernel void fill_one_more(global uint *out, uint n) {
    uint i = get_global_id(0);
    if (BROKEN_OR_MENDED(i <= n, i < n))
        out[i] = i;
}

kernel void neighbours_without_halo(global const uint *x, global uint *out) {
    local uint tile[BROKEN_OR_MENDED(64, 65)];
    uint t = get_local_id(0);
    tile[t] = x[t];
    IF_MENDED(if (t == 0) tile[64] = x[64];)
    barrier(CLK_LOCAL_MEM_FENCE);
    out[t] = tile[t] + tile[t + 1];
}

kernel void table_of_four(global uint *x, uint last) {
    uint t = get_local_id(0);
    uint table[4] = {3, 1, 4, last};
    uint place = x[t];
    IF_MENDED(place %= 4;)
    x[t] = table[place];
}

kernel void pairs_at_odd_places(global const uint *x, global uint *out) {
    uint t = get_local_id(0);
    uint2 pair = *(global const uint2 *)(x + BROKEN_OR_MENDED(t, 2 * t));
    out[t] = pair.x + pair.y;
}

kernel void accumulate(global const float *x, global float *sums) {
    uint i = get_global_id(0);
    sums[i] += x[i];
}

kernel void sum_of_some(global const uint *x, global uint *out, uint n) {
    local uint tile[64];
    uint t = get_local_id(0);
    if (t < n)
        tile[t] = x[t];
    IF_MENDED(else tile[t] = 0;)
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t == 0) {
        uint sum = 0;
        for (uint i = 0; i < 64; i++)
            sum += tile[i];
        out[0] = sum;
    }
}

kernel void double_and_reverse_at_once(global uint *x) {
    local uint tile[64];
    uint t = get_local_id(0);
    tile[t] = x[t];
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[t] = 2 * tile[t];
    IF_MENDED(barrier(CLK_LOCAL_MEM_FENCE);)
    x[t] = tile[63 - t];
}

// OpenCL has no warps; the twin has barriers where CUDA's has `__syncwarp`.
kernel void sum_in_lockstep(global const uint *x, global uint *out) {
    local uint sums[64];
    uint t = get_local_id(0);
    sums[t] = x[t];
    sums[t + 32] = x[t + 32];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_ = 32; half_ > 0; half_ /= 2) {
        uint other = sums[t + half_];
        IF_MENDED(barrier(CLK_LOCAL_MEM_FENCE);)
        if (t < half_)
            sums[t] += other;
        IF_MENDED(barrier(CLK_LOCAL_MEM_FENCE);)
    }
    if (t == 0)
        out[0] = sums[0];
}

kernel void histogram_without_atomics(global const uint *x, global uint *bins) {
    uint bin = x[get_global_id(0)];
    BROKEN_OR_MENDED(bins[bin] = bins[bin] + 1, atomic_inc(&bins[bin]));
}

kernel void last_block_without_fences(global uint *parts, global uint *arrived, global uint *sum) {
    uint i = get_global_id(0);
    parts[i] = i;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        IF_MENDED(mem_fence(CLK_GLOBAL_MEM_FENCE);)
        uint before = atomic_inc(arrived);
        if (before + 1 == get_num_groups(0)) {
            IF_MENDED(mem_fence(CLK_GLOBAL_MEM_FENCE);)
            uint total = 0;
            for (uint k = 0; k < 32 * get_num_groups(0); k++)
                total += parts[k];
            *sum = total;
        }
    }
}

// Atomic loads and stores, which OpenCL 1.2 has as updates only.
uint load_relaxed(volatile global uint *word) {
    return atomic_add(word, 0);
}

kernel void look_back(global uint *ticket, global uint *state, global uint *sums,
                      global uint *before) {
    uint tile = atomic_inc(ticket);
    uint sum = 0;
    if (tile > 0) {
        while (load_relaxed(&state[tile - 1]) == 0) {
        }
        IF_MENDED(mem_fence(CLK_GLOBAL_MEM_FENCE);)
        sum = load_relaxed(&sums[tile - 1]);
    }
    before[tile] = sum;
    atomic_xchg(&sums[tile], sum + tile + 1);
    IF_MENDED(mem_fence(CLK_GLOBAL_MEM_FENCE);)
    atomic_xchg(&state[tile], 1);
}

kernel void lock_without_fences(global uint *lock, global uint *total) {
    while (atomic_cmpxchg(lock, 0, 1) != 0) {
    }
    IF_MENDED(mem_fence(CLK_GLOBAL_MEM_FENCE);)
    uint before = *total;
    *total = before + 1;
    IF_MENDED(mem_fence(CLK_GLOBAL_MEM_FENCE);)
    atomic_xchg(lock, 0);
}

// OpenCL 1.2 has no launch whose groups are sure to be resident, hence no twin.
kernel void grid_barrier(global uint *values, global uint *arrived) {
    uint t = get_local_id(0), group = get_group_id(0);
    if (t == 0) {
        values[group] = group + 1;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        atomic_inc(arrived);
        while (load_relaxed(arrived) < get_num_groups(0)) {
        }
        mem_fence(CLK_GLOBAL_MEM_FENCE);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (t == 0)
        atomic_add(arrived, values[(group + 1) % get_num_groups(0)]);
}

kernel void barrier_in_branch(global uint *x) {
    local uint tile[64];
    uint t = get_local_id(0);
    tile[t] = x[t];
    IF_MENDED(barrier(CLK_LOCAL_MEM_FENCE);)
    if (t < 32) {
        BROKEN_OR_MENDED(barrier(CLK_LOCAL_MEM_FENCE), );
        x[t] = tile[t] + tile[t + 32];
    }
}

// The changes are counted in the upper half of 32 bits, since OpenCL 1.2 updates no 64.
uint take(global uint *head, global uint *next) {
    for (;;) {
        uint old = load_relaxed(head);
        uint node = old & 0xffff;
        if (node == 0)
            return 0;
        uint rest = load_relaxed(&next[node]);
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        uint changes = (old & 0xffff0000) + BROKEN_OR_MENDED(0, 0x10000);
        if (atomic_cmpxchg(head, old, rest | changes) == old)
            return node;
    }
}

void put(global uint *head, global uint *next, uint node) {
    for (;;) {
        uint old = load_relaxed(head);
        atomic_xchg(&next[node], old & 0xffff);
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        uint changes = (old & 0xffff0000) + BROKEN_OR_MENDED(0, 0x10000);
        if (atomic_cmpxchg(head, old, node | changes) == old)
            return;
    }
}

kernel void stack(global uint *head, global uint *next, global uint *taken) {
    if (get_local_id(0) == 0) {
        taken[0] = take(head, next);
    } else {
        uint first = take(head, next);
        taken[1] = take(head, next);
        if (first != 0)
            put(head, next, first);
    }
}

// The same buffer as both arguments, where CUDA has a load through the read-only cache.
kernel void reads_its_writes_read_only(global uint *x, global uint *scratch,
                                       constant uint *scratch_again) {
    uint t = get_local_id(0);
    scratch[t] = x[t];
    barrier(CLK_GLOBAL_MEM_FENCE);
    x[t] = BROKEN_OR_MENDED(scratch_again, scratch)[63 - t];
}

kernel void add_one(global uint *values) {
    values[get_local_id(0)] += 1;
}
