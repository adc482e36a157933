/* nccl-slab's own functions, beside those of NCCL. A program needs none of them: they tell what happened.
 *
 * Both libraries (the preload libnccl-slab.so and the drop-in libnccl.so.2) export them. A program that may
 * also run without us looks them up with dlsym(RTLD_DEFAULT, "nccl_slab_version") and so on, after NCCL has
 * been loaded; where two of our libraries are in one process, the one loaded first answers for both.
 *
 * All functions may be called from any thread at any time, also while a communicator is being created or
 * destroyed; none blocks or calls CUDA or NCCL. Structures grow at their end only: set `size` to
 * sizeof the structure that you compiled with, and members beyond it are left alone. Strings are constants of
 * the library.
 */
#ifndef NCCL_SLAB_NCCL_SLAB_H
#define NCCL_SLAB_NCCL_SLAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header: 10000 * major + 100 * minor + patch. */
#define NCCL_SLAB_VERSION 100

/* The version of the library that is loaded, in the same form. Its presence tells that nccl-slab is. */
int nccl_slab_version(void);

typedef enum {
  NCCL_SLAB_OK = 0,
  /* The communicator is NULL, destroyed, made before nccl-slab was loaded, in a way that it does not follow
   * (ncclCommGrow), or it is switched off. NCCL serves all its calls. */
  NCCL_SLAB_UNKNOWN_COMMUNICATOR = 1,
  /* A NULL result, or a size that covers not even the first member after it. Nothing was written. */
  NCCL_SLAB_INVALID_ARGUMENT = 2
} nccl_slab_status;

/* Whether the slab serves a communicator, agreed between all its ranks, and why not. */
typedef struct {
  size_t size;        /* set by the caller */
  int settled;        /* 0 while the ranks still set up; then the rest is preliminary */
  int uses_slab;      /* 1 if reduce-scatters that qualify go through the slab, 0 if NCCL serves every call */
  const char* reason; /* one word, e.g. "same_gpu"; "none" if uses_slab; never NULL */
  const char* explanation; /* the sentence behind it; never NULL */
} nccl_slab_verdict;

/* Fills *verdict for an ncclComm_t of this process. */
nccl_slab_status nccl_slab_comm_verdict(const void* comm, nccl_slab_verdict* verdict);

/* What this rank has issued on a communicator since it was created. Calls that were taken into a group count
 * when the group has ended; a CUDA graph's calls count once, when captured. */
typedef struct {
  size_t size;              /* set by the caller */
  uint64_t slab_calls;      /* reduce-scatters that the slab served */
  uint64_t slab_bytes;      /* their bytes: recvcount elements each */
  uint64_t forwarded_calls; /* reduce-scatters that NCCL served */
  uint64_t forwarded_bytes; /* their bytes: recvcount elements each */
} nccl_slab_counters;

/* Fills *counters for an ncclComm_t of this process. The four numbers are read one after another, not at one
 * instant. */
nccl_slab_status nccl_slab_comm_counters(const void* comm, nccl_slab_counters* counters);

/* For tuners: how the slab would carry out a reduce-scatter (sum) of `bytes` bytes per rank of an
 * ncclDataType_t, and under which circumstances that was decided. Both are words of a tuning table, ended by
 * 0. */
typedef struct {
  size_t size;   /* set by the caller */
  char plan[64]; /* e.g. flat:channels=4,chunk=512 */
  char key[128]; /* placement, ranks, mailboxes, settings, version */
} nccl_slab_plan;

nccl_slab_status nccl_slab_comm_plan(const void* comm, size_t bytes, int datatype, nccl_slab_plan* plan);

/* For tuners: makes later reduce-scatters of the communicator follow a plan like the above, of which channels
 * and chunk may be left out; calls that it does not fit are carried out as usual. NULL ends that. Every rank
 * must force the same between the same calls. Keeps a copy of every different text.
 * NCCL_SLAB_INVALID_ARGUMENT: no plan, or NCCL serves the communicator. */
nccl_slab_status nccl_slab_comm_force(const void* comm, const char* plan);

/* The address of a function of the real NCCL that the drop-in serves, looking for it on first use (which
 * loads it, and so may block); NULL if there is none, and always NULL in the preload, which follows each
 * caller to its own copy. */
const void* nccl_slab_real_function(const char* name);

#ifdef __cplusplus
}
#endif

#endif /* NCCL_SLAB_NCCL_SLAB_H */
