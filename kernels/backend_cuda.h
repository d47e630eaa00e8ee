/* The backend of the GPU, in builds with CUDA. */
#ifndef LOB_BACKEND_CUDA_H
#define LOB_BACKEND_CUDA_H

#include "kernels/backends.h"

extern const lob_backend lob_backend_cuda;

#endif
