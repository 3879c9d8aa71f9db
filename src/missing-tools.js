'use strict'
// What a system needs to build the native addon, beside Node.
const { spawnSync } = require('node:child_process')

const runs = (command, args, input = '') => spawnSync(command, args, { input, stdio: ['pipe', 'ignore', 'ignore'] }).status === 0

/** Where CMake looks for libraries before it looks where the system has them. */
const prefixes = (process.env.CMAKE_PREFIX_PATH ?? '').split(':').filter((folder) => folder !== '')

const compiles = (source, ...options) =>
  runs(
    process.env.CXX ?? 'c++',
    ['-std=c++17', '-fsyntax-only', ...options, ...prefixes.map((folder) => `-I${folder}/include`), '-x', 'c++', '-'],
    source
  )

const hasCompiler = () => compiles('#include <optional>')

/** The versions that native/CMakeLists.txt takes. */
const oneDnn = `#include <dnnl.hpp>
#if DNNL_VERSION_MAJOR * 100 + DNNL_VERSION_MINOR < 206 || DNNL_VERSION_MAJOR > 3
#error another version
#endif
`

/** Each by its name, and by that of its package in Debian and Ubuntu. */
const tools = [
  { name: 'a C++17 compiler', package: 'g++', isHere: hasCompiler },
  // GCC brings its own.
  { name: 'OpenMP', package: 'libomp-dev', isHere: () => !hasCompiler() || compiles('#include <omp.h>', '-fopenmp') },
  { name: 'make', package: 'make', isHere: () => runs('make', ['--version']) || runs('ninja', ['--version']) },
  { name: 'CMake', package: 'cmake', isHere: () => runs('cmake', ['--version']) },
  // Without a compiler it cannot be known.
  { name: 'oneDNN 2.6 to 3', package: 'libdnnl-dev', isHere: () => compiles(oneDnn) }
]

/** MPICH's has the same name. */
const hasOpenMpi = () =>
  ['mpirun.openmpi', 'mpirun'].some((name) => /Open MPI/.test(spawnSync(name, ['--version'], { encoding: 'utf8' }).stdout ?? ''))

const testTools = [{ name: "Open MPI's launcher", package: 'openmpi-bin', isHere: hasOpenMpi }]

/** Those that are not here. */
exports.missingTools = () => tools.filter(({ isHere }) => !isHere())

/** Those that tests alone need, and that are not here. */
exports.missingForTests = () => testTools.filter(({ isHere }) => !isHere())
