/* A GPU to compute on, through CUDA's runtime: opening, working memory, staged copies, errors. */
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/device_letters.h"

#include "volumes/bytes.h"
#include "volumes/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Large enough that a copy's start costs nothing, small enough to be pinned on any machine. */
static const int64_t STAGING_BYTES = 16 << 20;
static const int64_t FEW_BYTES = 4096; /* copies this small are not timed */
static const int64_t DRIVER_BYTES = 64 << 20;

/* Where others wait for their turn, a wait is awake for so long: waking up takes as long again. */
static const double AWAKE_S = 1e-4;

struct lob_device {
    int number, capability, multiprocessors;
    int64_t shared_bytes, total_bytes, most_bytes; /* the last: of lob_device_share */
    char name[256];
    cudaStream_t stream;
    cudaMemPool_t pool; /* of lob_device_alloc; NULL where this GPU's driver has none */
    void *block[LOB_DEVICE_BLOCKS];
    int64_t block_bytes[LOB_DEVICE_BLOCKS];
    unsigned char *staging[2];   /* pinned */
    cudaEvent_t staged[2];       /* the copy out of or into it has been done */
    cudaEvent_t reached;         /* of lob_device_wait, */
    cudaStream_t letters;        /* of lob_device_fetch, */
    cudaEvent_t offered;         /* which begins here */
    cudaEvent_t fetched;         /* and has come to here; */
    bool fetching;               /* the stream is not behind it yet */
    lob_device_mailbox *mailbox; /* pinned and mapped into the device */
    pthread_mutex_t turn;        /* of lob_device_begin, */
    double turn_s;               /* when it was, */
    int queue;                   /* and how many threads wait for theirs; atomic */
    void *pinned;                /* of lob_device_pinned_take */
    int64_t pinned_bytes;
};

/* Of the calls of each thread. */
static thread_local lob_device_traffic traffic;

static lob_status status_of(cudaError_t result)
{
    switch (result) {
    case cudaSuccess:
        return LOB_OK;
    case cudaErrorMemoryAllocation:
        return LOB_ENOMEM;
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceAlreadyInUse:
        return LOB_EBUSY;
    default:
        return LOB_EDEVICE;
    }
}

lob_status lob_device_check(cudaError_t result, const char *call, lob_error *error)
{
    if (result == cudaSuccess) return LOB_OK;
    (void)cudaGetLastError(); /* what can be forgotten must not fail the next call */
    size_t n = 0;
    while (call[n] && call[n] != '(') n++;
    return lob_fail(error, status_of(result), "%.*s: %s (%s)", (int)n, call,
                    cudaGetErrorString(result), cudaGetErrorName(result));
}

lob_status lob_device_enter(const lob_device *device, lob_error *error)
{
    LOB_CUDA(cudaSetDevice(device->number));
    return LOB_OK;
}

/* Exists so that a GPU which this build has no code for is found out when it is opened. */
static __global__ void probe_kernel(int unused)
{
    (void)unused;
}

static lob_status count_devices(int *count, lob_error *error)
{
    const cudaError_t result = cudaGetDeviceCount(count);
    if (result == cudaSuccess && *count > 0) return LOB_OK;
    (void)cudaGetLastError();
    int driver = 0; /* stays 0 where there is none */
    if (result == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess &&
        driver > 0)
        return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU,
                             "the NVIDIA driver is for CUDA %d.%d, too old for this build (%d.%d)",
                             driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                             CUDART_VERSION % 1000 / 10);
    if (result == cudaErrorInsufficientDriver)
        return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU,
                             "no NVIDIA driver in this machine");
    if (result == cudaErrorNoDevice || result == cudaSuccess)
        return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU, "no CUDA GPU in this machine");
    return lob_device_check(result, "cudaGetDeviceCount", error);
}

/* Make GPU number n current and find out whether this build runs there and what is free. */
static lob_status try_device(int n, int64_t *free_bytes, lob_error *error)
{
    cudaFuncAttributes attributes;
    size_t bytes = 0, total = 0;
    LOB_CUDA(cudaSetDevice(n));
    const cudaError_t result = cudaFuncGetAttributes(&attributes, (const void *)probe_kernel);
    if (result == cudaErrorNoKernelImageForDevice || result == cudaErrorInvalidDeviceFunction) {
        (void)cudaGetLastError();
        return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_BUILD_GPU,
                             "GPU %d is too old for this build", n);
    }
    LOB_CUDA(result);
    LOB_CUDA(cudaMemGetInfo(&bytes, &total));
    *free_bytes = (int64_t)bytes;
    return LOB_OK;
}

static lob_status find_freest(int count, int *number, lob_error *error)
{
    lob_status last = LOB_EDEVICE;
    int64_t most = -1;
    for (int n = 0; n < count; n++) {
        int64_t bytes = 0;
        const lob_status st = try_device(n, &bytes, error);
        if (st != LOB_OK) last = st;
        if (st == LOB_OK && bytes > most) most = bytes, *number = n;
    }
    return most >= 0 ? LOB_OK : last;
}

static lob_status choose(const char *choice, int *number, lob_error *error)
{
    int count = 0;
    int64_t bytes = 0;
    LOB_TRY(count_devices(&count, error));
    if (strcmp(choice, "auto") == 0) return find_freest(count, number, error);
    char *end = NULL;
    const bool numbered = strncmp(choice, "cuda:", 5) == 0 && choice[5] >= '0' && choice[5] <= '9';
    const long n = numbered ? strtol(choice + 5, &end, 10) : 0;
    if (numbered ? *end != '\0' : strcmp(choice, "cuda") != 0)
        return lob_fail(error, LOB_EDEVICE, "device '%s': it is auto, cuda or cuda:N", choice);
    if (n >= count)
        return lob_fail(error, LOB_EDEVICE, "no GPU %ld: this machine has %d, numbered from 0", n,
                        count);
    *number = (int)n;
    return try_device(*number, &bytes, error);
}

/* Memory that is freed stays with the pool: giving it back takes longer than a small volume. */
static lob_status make_pool(lob_device *device, lob_error *error)
{
    int supported = 0;
    uint64_t keep = UINT64_MAX;
    cudaMemPoolProps properties = {};
    LOB_CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device->number));
    if (!supported) return LOB_OK;
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device->number;
    LOB_CUDA(cudaMemPoolCreate(&device->pool, &properties));
    LOB_CUDA(cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &keep));
    return LOB_OK;
}

/* An event; who blocks on it sleeps. */
static lob_status make_event(cudaEvent_t *event, lob_error *error)
{
    LOB_CUDA(cudaEventCreateWithFlags(event, cudaEventDisableTiming | cudaEventBlockingSync));
    return LOB_OK;
}

static lob_status fill_in(lob_device *device, lob_error *error)
{
    cudaDeviceProp properties;
    int shared = 0, cooperative = 0;
    LOB_CUDA(cudaGetDeviceProperties(&properties, device->number));
    LOB_CUDA(
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device->number));
    LOB_CUDA(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device->number));
    if (!cooperative)
        return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU,
                             "GPU %d cannot run blocks that wait for each other", device->number);
    device->capability = 10 * properties.major + properties.minor;
    device->multiprocessors = properties.multiProcessorCount;
    device->total_bytes = (int64_t)properties.totalGlobalMem;
    device->shared_bytes = shared;
    memcpy(device->name, properties.name, sizeof device->name - 1);
    LOB_CUDA(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking));
    LOB_CUDA(cudaStreamCreateWithFlags(&device->letters, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        LOB_CUDA(cudaMallocHost((void **)&device->staging[i], STAGING_BYTES));
        LOB_TRY(make_event(&device->staged[i], error));
    }
    LOB_TRY(make_event(&device->reached, error));
    LOB_TRY(make_event(&device->offered, error));
    LOB_TRY(make_event(&device->fetched, error));
    LOB_CUDA(
        cudaHostAlloc((void **)&device->mailbox, sizeof *device->mailbox, cudaHostAllocMapped));
    memset((void *)device->mailbox, 0, sizeof *device->mailbox);
    return make_pool(device, error);
}

int lob_device_count(void)
{
    int count = 0;
    return count_devices(&count, NULL) == LOB_OK ? count : 0;
}

void lob_device_identity(char text[LOB_DEVICE_IDENTITY], int n)
{
    cudaDeviceProp properties;
    text[0] = '\0';
    if (n < 0 || n >= lob_device_count() ||
        cudaGetDeviceProperties(&properties, n) != cudaSuccess) {
        (void)cudaGetLastError();
        return;
    }
    char *to = text + sprintf(text, "gpu-");
    for (int i = 0; i < 16; i++) to += sprintf(to, "%02x", (unsigned char)properties.uuid.bytes[i]);
}

lob_status lob_device_open(lob_device **out, const char *choice, lob_error *error)
{
    *out = NULL;
    lob_device *device = (lob_device *)calloc(1, sizeof *device);
    if (!device) return lob_fail(error, LOB_ENOMEM, "no memory left to open a GPU");
    device->number = -1;
    device->most_bytes = INT64_MAX;
    pthread_mutex_init(&device->turn, NULL);
    int number = 0;
    lob_status st = choose(choice, &number, error);
    if (st == LOB_OK) {
        device->number = number;
        st = lob_device_enter(device, error);
    }
    if (st == LOB_OK) st = fill_in(device, error);
    if (st != LOB_OK) {
        lob_device_close(device);
        return st;
    }
    if (error) error->text[0] = '\0'; /* what "auto" met on another GPU */
    *out = device;
    return LOB_OK;
}

void lob_device_close(lob_device *device)
{
    if (!device) return;
    if (device->number >= 0 && cudaSetDevice(device->number) == cudaSuccess) {
        if (device->stream) cudaStreamSynchronize(device->stream);
        if (device->letters) cudaStreamSynchronize(device->letters);
        for (int i = 0; i < 2; i++) {
            if (device->staged[i]) cudaEventDestroy(device->staged[i]);
            if (device->staging[i]) cudaFreeHost(device->staging[i]);
        }
        if (device->reached) cudaEventDestroy(device->reached);
        if (device->offered) cudaEventDestroy(device->offered);
        if (device->fetched) cudaEventDestroy(device->fetched);
        if (device->pinned) cudaFreeHost(device->pinned);
        if (device->mailbox) cudaFreeHost((void *)device->mailbox);
        for (int i = 0; i < LOB_DEVICE_BLOCKS; i++) cudaFree(device->block[i]);
        if (device->pool) cudaMemPoolDestroy(device->pool);
        if (device->letters) cudaStreamDestroy(device->letters);
        if (device->stream) cudaStreamDestroy(device->stream);
    }
    (void)cudaGetLastError();
    pthread_mutex_destroy(&device->turn);
    free(device);
}

/* ---- facts ---- */

lob_device_mailbox *lob_device_mailbox_of(const lob_device *device)
{
    return device->mailbox;
}

int lob_device_multiprocessors(const lob_device *device)
{
    return device->multiprocessors;
}

int64_t lob_device_shared_bytes(const lob_device *device)
{
    return device->shared_bytes;
}

const char *lob_device_name(const lob_device *device)
{
    return device->name;
}

int lob_device_number(const lob_device *device)
{
    return device->number;
}

int lob_device_capability(const lob_device *device)
{
    return device->capability;
}

/* Bytes that the pool keeps though nobody has them. */
static int64_t pool_unused(const lob_device *device)
{
    uint64_t held = 0, used = 0;
    if (!device->pool ||
        cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrReservedMemCurrent, &held) !=
            cudaSuccess ||
        cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrUsedMemCurrent, &used) != cudaSuccess)
        return 0;
    return (int64_t)(held - used);
}

static int64_t free_now(const lob_device *device)
{
    size_t bytes = 0, total = 0;
    if (lob_device_enter(device, NULL) != LOB_OK) return 0;
    if (lob_device_check(cudaMemGetInfo(&bytes, &total), "cudaMemGetInfo", NULL) != LOB_OK)
        return 0;
    return (int64_t)bytes + pool_unused(device);
}

void lob_device_share(lob_device *device, int sharers)
{
    if (sharers > 1) device->most_bytes = free_now(device) / sharers;
}

static int64_t bytes_of_blocks(const lob_device *device)
{
    int64_t bytes = 0;
    for (int i = 0; i < LOB_DEVICE_BLOCKS; i++) bytes += device->block_bytes[i];
    return bytes;
}

int64_t lob_device_free_bytes(const lob_device *device)
{
    const int64_t all = bytes_of_blocks(device);
    return lob_device_block_room(device->most_bytes, free_now(device), all, all);
}

int64_t lob_device_total_bytes(const lob_device *device)
{
    return device->total_bytes;
}

/* ---- blocks ---- */

int64_t lob_device_block_capacity(const lob_device *device, lob_device_block block, int64_t wanted)
{
    const int64_t held = device->block_bytes[block];
    if (wanted <= held) return held;
    /* Something stays for the driver, which needs memory of its own for kernels. */
    return lob_device_block_room(device->most_bytes, free_now(device) - DRIVER_BYTES,
                                 bytes_of_blocks(device), held);
}

lob_status lob_device_block_take(lob_device *device, lob_device_block block, void **memory,
                                 int64_t size, lob_error *error)
{
    *memory = NULL;
    LOB_TRY(lob_device_enter(device, error));
    if (size > device->block_bytes[block]) {
        LOB_TRY(lob_device_wait(device, error));
        LOB_CUDA(cudaFree(device->block[block]));
        device->block[block] = NULL;
        device->block_bytes[block] = 0;
        if (device->pool) LOB_CUDA(cudaMemPoolTrimTo(device->pool, 0));
        LOB_CUDA(cudaMalloc(&device->block[block], (size_t)size));
        device->block_bytes[block] = size;
    }
    *memory = device->block[block];
    return LOB_OK;
}

lob_status lob_device_alloc(lob_device *device, void **memory, int64_t bytes, lob_error *error)
{
    const size_t size = bytes > 0 ? (size_t)bytes : 1;
    *memory = NULL;
    LOB_TRY(lob_device_enter(device, error));
    const cudaError_t result =
        device->pool ? cudaMallocFromPoolAsync(memory, size, device->pool, device->stream)
                     : cudaMalloc(memory, size);
    if (result != cudaErrorMemoryAllocation)
        return lob_device_check(result, "cudaMallocFromPoolAsync", error);
    (void)cudaGetLastError();
    char asked[LOB_BYTES_TEXT], left[LOB_BYTES_TEXT];
    lob_bytes_texts(asked, bytes, left, free_now(device));
    return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                         "%s more are needed on the GPU, which has %s free", asked, left);
}

void lob_device_free(lob_device *device, void *memory)
{
    if (!memory || cudaSetDevice(device->number) != cudaSuccess) return;
    if (device->pool)
        (void)cudaFreeAsync(memory, device->stream);
    else
        (void)cudaFree(memory); /* waits for what the device was given */
}

lob_status lob_device_pinned_take(lob_device *device, void **memory, int64_t size, lob_error *error)
{
    *memory = NULL;
    LOB_TRY(lob_device_enter(device, error));
    if (size > device->pinned_bytes) {
        LOB_TRY(lob_device_wait(device, error));
        if (device->pinned) LOB_CUDA(cudaFreeHost(device->pinned));
        device->pinned = NULL;
        device->pinned_bytes = 0;
        LOB_CUDA(cudaMallocHost(&device->pinned, (size_t)size));
        device->pinned_bytes = size;
    }
    *memory = device->pinned;
    return LOB_OK;
}

/* ---- turns ---- */

void lob_device_begin(lob_device *device)
{
    if (!device) return;
    const double start_s = lob_clock_s();
    __atomic_fetch_add(&device->queue, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&device->turn);
    __atomic_fetch_sub(&device->queue, 1, __ATOMIC_RELAXED);
    device->turn_s = lob_clock_s();
    traffic.wait_s += device->turn_s - start_s;
}

void lob_device_end(lob_device *device)
{
    if (!device) return;
    traffic.turns_s += lob_clock_s() - device->turn_s;
    pthread_mutex_unlock(&device->turn);
}

/* ---- waiting ---- */

/*
 * Wait for an event. A call has many short waits, and waking up lengthens each: so the thread stays
 * awake, unless others wait for the device, which have work for the core before their turn.
 */
static lob_status wait_for(const lob_device *device, cudaEvent_t event, lob_error *error)
{
    const double start_s = lob_clock_s();
    cudaError_t result;
    while ((result = cudaEventQuery(event)) == cudaErrorNotReady)
        if (__atomic_load_n(&device->queue, __ATOMIC_RELAXED) > 0 &&
            lob_clock_s() - start_s > AWAKE_S) {
            result = cudaEventSynchronize(event);
            break;
        }
    if (result == cudaSuccess) (void)cudaGetLastError(); /* "not ready" would fail a launch */
    LOB_CUDA(result);
    return LOB_OK;
}

lob_status lob_device_wait(lob_device *device, lob_error *error)
{
    LOB_TRY(lob_device_after_fetches(device, error));
    LOB_CUDA(cudaEventRecord(device->reached, device->stream));
    return wait_for(device, device->reached, error);
}

/* ---- copies ---- */

lob_device_traffic lob_device_traffic_here(void)
{
    return traffic;
}

lob_status lob_device_upload(lob_device *device, void *to, const void *from, int64_t bytes,
                             lob_error *error)
{
    LOB_TRY(lob_device_enter(device, error));
    const double start_s = lob_clock_s();
    int turn = 0;
    for (int64_t at = 0; at < bytes; at += STAGING_BYTES, turn ^= 1) {
        const size_t n = (size_t)(bytes - at < STAGING_BYTES ? bytes - at : STAGING_BYTES);
        LOB_TRY(wait_for(device, device->staged[turn], error));
        memcpy(device->staging[turn], (const unsigned char *)from + at, n);
        LOB_CUDA(cudaMemcpyAsync((unsigned char *)to + at, device->staging[turn], n,
                                 cudaMemcpyHostToDevice, device->stream));
        LOB_CUDA(cudaEventRecord(device->staged[turn], device->stream));
    }
    traffic.upload_s += lob_clock_s() - start_s;
    traffic.upload_bytes += bytes;
    return LOB_OK;
}

static int64_t part_at(const lob_device_reading *r, int64_t at)
{
    return r->bytes - at < STAGING_BYTES ? r->bytes - at : STAGING_BYTES;
}

/* The buffer of the part that begins there, and its event. */
static int turn_at(int64_t at)
{
    return (int)(at / STAGING_BYTES & 1);
}

/* Let the part that begins there come. */
static lob_status start_part(lob_device *device, const lob_device_reading *r, int64_t at,
                             lob_error *error)
{
    if (at >= r->bytes) return LOB_OK;
    LOB_CUDA(cudaMemcpyAsync(device->staging[turn_at(at)], (const unsigned char *)r->from + at,
                             (size_t)part_at(r, at), cudaMemcpyDeviceToHost, device->stream));
    LOB_CUDA(cudaEventRecord(device->staged[turn_at(at)], device->stream));
    return LOB_OK;
}

lob_status lob_device_read(lob_device *device, lob_device_reading *r, const void **part, int64_t *n,
                           lob_error *error)
{
    const bool timed = r->bytes > FEW_BYTES; /* else waiting for what computes them is all */
    const int64_t at = r->at;
    *n = part_at(r, at);
    *part = device->staging[turn_at(at)];
    LOB_TRY(at == 0 && timed ? lob_device_wait(device, error) : lob_device_enter(device, error));
    const double start_s = lob_clock_s();
    if (at == 0) LOB_TRY(start_part(device, r, 0, error));
    LOB_TRY(start_part(device, r, at + STAGING_BYTES, error));
    if (*n > 0) LOB_TRY(wait_for(device, device->staged[turn_at(at)], error));
    r->at += *n;
    if (timed) traffic.download_s += lob_clock_s() - start_s;
    traffic.download_bytes += *n;
    return LOB_OK;
}

lob_status lob_device_download(lob_device *device, void *to, const void *from, int64_t bytes,
                               lob_error *error)
{
    lob_device_reading reading = {from, bytes, 0};
    for (int64_t at = 0, n; at < bytes; at += n) {
        const void *part;
        LOB_TRY(lob_device_read(device, &reading, &part, &n, error));
        const double start_s = lob_clock_s();
        memcpy((unsigned char *)to + at, part, (size_t)n);
        if (bytes > FEW_BYTES) traffic.download_s += lob_clock_s() - start_s;
    }
    return LOB_OK;
}

lob_status lob_device_copy(lob_device *device, void *to, const void *from, int64_t bytes,
                           lob_error *error)
{
    LOB_TRY(lob_device_enter(device, error));
    LOB_CUDA(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, device->stream));
    return LOB_OK;
}

/*
 * Let this GPU read another's memory, if it can; else the driver goes by ordinary memory. A process
 * is told once for each two GPUs: telling it again is an error.
 */
static void reach(const lob_device *device, const lob_device *there)
{
    enum { GPUS = 64 };
    static uint64_t told[GPUS]; /* of each GPU, a bit for each other; atomic */
    const int from = device->number, to = there->number;
    int can = 0;
    if (from == to || from >= GPUS || to >= GPUS) return;
    const uint64_t bit = 1ull << to;
    if (__atomic_fetch_or(&told[from], bit, __ATOMIC_RELAXED) & bit) return;
    if (cudaDeviceCanAccessPeer(&can, from, to) == cudaSuccess && can)
        (void)cudaDeviceEnablePeerAccess(to, 0);
    (void)cudaGetLastError();
}

lob_status lob_device_offer(lob_device *device, lob_error *error)
{
    LOB_TRY(lob_device_enter(device, error));
    LOB_CUDA(cudaEventRecord(device->offered, device->stream));
    return LOB_OK;
}

lob_status lob_device_fetch(lob_device *device, void *to, const lob_device *there, const void *from,
                            int64_t bytes, lob_error *error)
{
    LOB_TRY(lob_device_enter(device, error));
    reach(device, there);
    device->fetching = true;
    LOB_CUDA(cudaStreamWaitEvent(device->letters, device->offered, 0));
    LOB_CUDA(cudaStreamWaitEvent(device->letters, there->offered, 0));
    LOB_CUDA(cudaMemcpyPeerAsync(to, device->number, from, there->number, (size_t)bytes,
                                 device->letters));
    LOB_CUDA(cudaEventRecord(device->fetched, device->letters));
    return LOB_OK;
}

lob_status lob_device_fetched(lob_device *device, const lob_device *by, lob_error *error)
{
    LOB_TRY(lob_device_enter(device, error));
    device->fetching = true;
    LOB_CUDA(cudaStreamWaitEvent(device->letters, by->fetched, 0));
    return LOB_OK;
}

lob_status lob_device_after_fetches(lob_device *device, lob_error *error)
{
    LOB_TRY(lob_device_enter(device, error));
    if (!device->fetching) return LOB_OK;
    LOB_CUDA(cudaEventRecord(device->fetched, device->letters));
    LOB_CUDA(cudaStreamWaitEvent(device->stream, device->fetched, 0));
    device->fetching = false;
    return LOB_OK;
}

void lob_device_count_bytes(int64_t up, int64_t down)
{
    traffic.upload_bytes += up;
    traffic.download_bytes += down;
}

void *lob_device_stream(const lob_device *device)
{
    return device->stream;
}

lob_status lob_device_wait_stream(lob_device *device, void *stream, lob_error *error)
{
    LOB_TRY(lob_device_enter(device, error));
    cudaEvent_t given;
    LOB_CUDA(cudaEventCreateWithFlags(&given, cudaEventDisableTiming));
    lob_status st =
        lob_device_check(cudaEventRecord(given, (cudaStream_t)stream), "cudaEventRecord", error);
    if (st == LOB_OK)
        st = lob_device_check(cudaStreamWaitEvent(device->stream, given, 0), "cudaStreamWaitEvent",
                              error);
    (void)cudaEventDestroy(given); /* freed once the stream is past it */
    return st;
}

lob_status lob_device_fill(lob_device *device, void *memory, unsigned char value, int64_t bytes,
                           lob_error *error)
{
    LOB_CUDA(cudaMemsetAsync(memory, value, (size_t)bytes, device->stream));
    return LOB_OK;
}
