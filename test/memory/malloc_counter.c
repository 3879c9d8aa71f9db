// Preloaded (LD_PRELOAD) into a process: counts the bytes that are allocated from the C library's heap, by every thread.
// The counts live in the file named by MALLOC_COUNTS, two int64: bytes allocated now, and their highest value since the second
// was last overwritten. Bytes are what malloc_usable_size says, so that frees subtract what was added. glibc only.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

struct counts {
  _Atomic int64_t now, highest;
};

static struct counts early;
static struct counts *counts = &early;

static void add(int64_t bytes) {
  const int64_t now = atomic_fetch_add(&counts->now, bytes) + bytes;
  int64_t highest = atomic_load(&counts->highest);
  while (now > highest && !atomic_compare_exchange_weak(&counts->highest, &highest, now)) {
  }
}

static void *counted(void *block) {
  if (block != NULL) add((int64_t)malloc_usable_size(block));
  return block;
}

__attribute__((constructor)) static void share_counts(void) {
  const char *path = getenv("MALLOC_COUNTS");
  const int file = path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(struct counts)) != 0) _exit(70);
  void *mapped = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) _exit(70);
  close(file);
  struct counts *shared = mapped;
  atomic_store(&shared->now, atomic_load(&early.now));
  atomic_store(&shared->highest, atomic_load(&early.highest));
  counts = shared;
}

void *malloc(size_t bytes) { return counted(__libc_malloc(bytes)); }

void *calloc(size_t count, size_t bytes) { return counted(__libc_calloc(count, bytes)); }

void free(void *block) {
  if (block != NULL) add(-(int64_t)malloc_usable_size(block));
  __libc_free(block);
}

void *realloc(void *block, size_t bytes) {
  const int64_t before = block == NULL ? 0 : (int64_t)malloc_usable_size(block);
  void *moved = __libc_realloc(block, bytes);
  if (moved != NULL) add((int64_t)malloc_usable_size(moved) - before);
  if (moved == NULL && bytes == 0) add(-before);
  return moved;
}

void *memalign(size_t alignment, size_t bytes) { return counted(__libc_memalign(alignment, bytes)); }

void *aligned_alloc(size_t alignment, size_t bytes) { return counted(__libc_memalign(alignment, bytes)); }

int posix_memalign(void **result, size_t alignment, size_t bytes) {
  void *block = counted(__libc_memalign(alignment, bytes));
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}
