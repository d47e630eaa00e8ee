/* LOB_BOTH marks inline functions of single voxels, which are compiled for the CPU and for CUDA. */
#ifndef LOB_BOTH_H
#define LOB_BOTH_H

#ifdef __CUDACC__
#define LOB_BOTH static inline __host__ __device__
#else
#define LOB_BOTH static inline
#endif

#endif
