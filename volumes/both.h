/*
 * What lets one header compile as C, C++ and CUDA. LOB_BEGIN_DECLS and LOB_END_DECLS stand around
 * its declarations. LOB_BOTH marks inline functions of single voxels, which are compiled for the
 * CPU and for CUDA.
 */
#ifndef LOB_BOTH_H
#define LOB_BOTH_H

#ifdef __cplusplus
#define LOB_BEGIN_DECLS extern "C" {
#define LOB_END_DECLS   }
#else
#define LOB_BEGIN_DECLS
#define LOB_END_DECLS
#endif

#ifdef __CUDACC__
#define LOB_BOTH static inline __host__ __device__
#else
#define LOB_BOTH static inline
#endif

#endif
