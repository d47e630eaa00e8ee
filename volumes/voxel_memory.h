/* Memory for voxels: large blocks lie on huge pages, which the system hands out much faster. */
#ifndef LOB_VOXEL_MEMORY_H
#define LOB_VOXEL_MEMORY_H

#include "volumes/both.h"

#include <stddef.h>
#include <stdint.h>

LOB_BEGIN_DECLS

/* A block of so many bytes, at least one, and the same with all of them 0; free() frees it. NULL
 * where there is no memory, or bytes is negative. */
void *lob_voxel_memory(int64_t bytes);
void *lob_voxel_memory_zero(int64_t bytes);

/* Set bytes to 0, and copy them, but write no 0 over 0: pages that nobody has written take no
 * memory, and reading them is quick. */
void lob_clear(void *data, size_t bytes);
void lob_copy_sparse(void *to, const void *from, size_t bytes);

LOB_END_DECLS

#endif
