/* A stand-in for NVIDIA's driver, for tests on machines without a GPU: one device that copies
 * immediately and whose kernels do nothing. It logs the calls that decide the order of work, as
 * lines that `stand_in_log` returns. Memory is the host's. */
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t address;
typedef void *handle;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char text[1 << 20];
static size_t written;
static uintptr_t handles = 0x1000;
static long allocated;

static void note(const char *format, ...) {
    pthread_mutex_lock(&mutex);
    va_list list;
    va_start(list, format);
    if (written + 100 < sizeof text)
        written += (size_t)vsnprintf(text + written, 100, format, list);
    va_end(list);
    pthread_mutex_unlock(&mutex);
}

static handle made(void) {
    pthread_mutex_lock(&mutex);
    handle new = (handle)++handles;
    pthread_mutex_unlock(&mutex);
    return new;
}

const char *stand_in_log(void) { return text; }
void stand_in_clear(void) { written = 0, text[0] = 0; }
/* The number of allocations that are not freed. */
long stand_in_allocated(void) { return allocated; }

int cuInit(unsigned f) { return 0; }
int cuDriverGetVersion(int *v) { return *v = 13000, 0; }
int cuGetErrorName(int c, const char **n) { return *n = "CUDA_ERROR_STAND_IN", 0; }
int cuGetErrorString(int c, const char **n) { return *n = "an error of the stand-in", 0; }
int cuDeviceGetCount(int *n) { return *n = 1, 0; }
int cuDeviceGet(int *d, int i) { return *d = i, 0; }
int cuDeviceGetName(char *n, int l, int d) { return snprintf(n, l, "stand-in"), 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { return *n = 1 << 30, 0; }
int cuDeviceGetAttribute(int *v, int a, int d) {
    switch (a) {
    case 1: case 2: case 3: *v = 1024; break;
    case 4: *v = 64; break;
    case 5: *v = 0x7fffffff; break;
    case 6: case 7: *v = 65535; break;
    case 16: *v = 132; break;
    case 39: *v = 2048; break;
    case 75: *v = 9; break;
    case 97: *v = 227 << 10; break;
    case 115: *v = 1; break;
    default: *v = 0;
    }
    return 0;
}
int cuDevicePrimaryCtxRetain(handle *c, int d) { return *c = (handle)1000, 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { return 0; }
int cuCtxSetCurrent(handle c) { return 0; }
int cuCtxGetDevice(int *d) { return *d = 0, 0; }
int cuCtxSynchronize(void) { return note("synchronize device\n"), 0; }
int cuDeviceGetDefaultMemPool(handle *p, int d) { return *p = made(), 0; }
int cuMemPoolSetAttribute(handle p, int a, void *v) { return 0; }
int cuMemPoolGetAttribute(handle p, int a, uint64_t *v) { return *v = 0, 0; }
int cuMemPoolTrimTo(handle p, size_t n) { return 0; }
int cuMemGetInfo_v2(size_t *f, size_t *t) { return *f = 1 << 29, *t = 1 << 30, 0; }

/* Aligned as the driver aligns. */
int cuMemAllocAsync(address *a, size_t n, handle s) {
    void *memory = aligned_alloc(256, (n + 255) / 256 * 256);
    memset(memory, 0, n);
    __atomic_add_fetch(&allocated, 1, __ATOMIC_RELAXED);
    return *a = (address)memory, 0;
}
int cuMemFreeAsync(address a, handle s) {
    note("free %lu\n", (unsigned long)s);
    __atomic_sub_fetch(&allocated, 1, __ATOMIC_RELAXED);
    return free((void *)a), 0;
}
int cuMemAllocHost_v2(void **a, size_t n) { return *a = calloc(1, n), 0; }
int cuMemFreeHost(void *a) { return free(a), 0; }
int cuMemcpyHtoDAsync_v2(address t, const void *f, size_t n, handle s) {
    return memcpy((void *)t, f, n), 0;
}
int cuMemcpyDtoHAsync_v2(void *t, address f, size_t n, handle s) {
    return memcpy(t, (void *)f, n), 0;
}
int cuMemcpyDtoDAsync_v2(address t, address f, size_t n, handle s) {
    return note("copy %lu\n", (unsigned long)s), memcpy((void *)t, (void *)f, n), 0;
}
int cuMemsetD8Async(address t, uint8_t v, size_t n, handle s) { return memset((void *)t, v, n), 0; }
int cuMemsetD16Async(address t, uint16_t v, size_t n, handle s) {
    for (size_t i = 0; i < n; i++) ((uint16_t *)t)[i] = v;
    return 0;
}
int cuMemsetD32Async(address t, uint32_t v, size_t n, handle s) {
    for (size_t i = 0; i < n; i++) ((uint32_t *)t)[i] = v;
    return 0;
}
/* All memory is the device's, in ranges of 2^40 bytes. */
int cuPointerGetAttribute(void *v, int a, address p) {
    switch (a) {
    case 1: *(handle *)v = (handle)1000; return 0;
    case 2: *(unsigned *)v = 2; return 0;
    case 9: *(int *)v = 0; return 0;
    case 11: *(address *)v = p; return 0;
    case 12: *(size_t *)v = (size_t)1 << 40; return 0;
    default: return 1;
    }
}
int cuMemGetAddressRange_v2(address *b, size_t *n, address p) {
    return *b = p, *n = (size_t)1 << 40, 0;
}
int cuModuleLoadDataEx(handle *m, const void *i, unsigned n, void *o, void **v) {
    return *m = made(), 0;
}
int cuModuleUnload(handle m) { return 0; }
int cuModuleGetFunction(handle *f, handle m, const char *n) { return *f = strdup(n), 0; }
int cuFuncGetAttribute(int *v, int a, handle f) { return *v = a ? 32 : 1024, 0; }
int cuFuncSetAttribute(handle f, int a, int v) { return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *b, handle f, int t, size_t s) {
    return *b = 2, 0;
}
int cuLaunchKernel(handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, handle s, void **args, void **extra) {
    return note("launch %lu %s\n", (unsigned long)s, (char *)f), 0;
}
int cuLaunchCooperativeKernel(handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared, handle s, void **args) {
    return note("launch %lu %s\n", (unsigned long)s, (char *)f), 0;
}
int cuEventCreate(handle *e, unsigned f) { return *e = made(), 0; }
int cuEventDestroy_v2(handle e) { return 0; }
int cuEventRecord(handle e, handle s) {
    return note("record %lu %lu\n", (unsigned long)s, (unsigned long)e), 0;
}
int cuEventQuery(handle e) { return 0; }
int cuEventSynchronize(handle e) { return 0; }
int cuEventElapsedTime(float *m, handle a, handle b) { return *m = 1, 0; }
int cuStreamCreateWithPriority(handle *s, unsigned f, int p) { return *s = made(), 0; }
int cuStreamDestroy_v2(handle s) { return 0; }
int cuStreamGetCtx(handle s, handle *c) { return *c = (handle)1000, 0; }
int cuStreamSynchronize(handle s) { return note("synchronize %lu\n", (unsigned long)s), 0; }
int cuStreamWaitEvent(handle s, handle e, unsigned f) {
    return note("wait %lu %lu\n", (unsigned long)s, (unsigned long)e), 0;
}
int cuStreamQuery(handle s) { return 0; }
int cuStreamBeginCapture_v2(handle s, int m) { return 0; }
int cuStreamEndCapture(handle s, handle *g) { return *g = made(), 0; }
int cuGraphInstantiateWithFlags(handle *e, handle g, uint64_t f) { return *e = made(), 0; }
int cuGraphGetNodes(handle g, handle *n, size_t *c) { return *c = 1, 0; }
int cuGraphLaunch(handle e, handle s) { return 0; }
int cuGraphExecDestroy(handle e) { return 0; }
int cuGraphDestroy(handle g) { return 0; }
