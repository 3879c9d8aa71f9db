// OpenMP's routines with one thread, for builds without it: a compiler that has none, and ThreadSanitizer, which cannot see how
// libgomp's threads wait for each other and would report races that are none.
#pragma once

inline void omp_set_dynamic(int) {}
inline void omp_set_num_threads(int) {}
inline int omp_get_max_threads() { return 1; }
inline int omp_get_num_threads() { return 1; }
inline int omp_get_thread_num() { return 0; }
inline int omp_get_num_procs() { return 1; }
inline int omp_get_thread_limit() { return 1024; }
