import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { testIn } from './roots'

const build = '/work/arm64'
const configure = [
  'cmake -S native',
  `-B ${build}`,
  '-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++',
  '-DDNNL_INCLUDE_DIR=/usr/include -DDNNL_LIBRARY=/usr/lib/aarch64-linux-gnu/libdnnl.so',
  '-DTILEFOLD_TEST=ON -DTILEFOLD_MARCH_NATIVE=OFF -DTILEFOLD_CUDA=OFF'
].join(' ')

/** Of libdnnl-dev only one architecture's can be there. */
const packages = ['g++', 'g++-aarch64-linux-gnu', 'cmake', 'make', 'qemu-user']
const forArm64 = [
  'dpkg --add-architecture arm64',
  'apt-get update -q',
  'DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends libdnnl-dev:arm64'
].join(' && ')

/** Without SVE, and with its vectors of 128, 256 and 512 bits. */
const processors = ['cortex-a72', 'neoverse-n2', 'neoverse-v1', 'a64fx']
const on = (processor: string, program: string): string => `qemu-aarch64 -cpu ${processor} ${build}/${program}`

testIn('debian13-arm64', 'trixie', packages, 'arm64: the core is cross-compiled, and its tests pass under qemu', (root) => {
  root.run(forArm64)
  root.run(`${configure} && cmake --build ${build} --target tilefold_test cpu_against_reference`)
  for (const processor of processors) assert.match(root.run(on(processor, 'cpu_against_reference 20')), /all agree/, processor)
  root.run(on('cortex-a72', 'tilefold_test 1'))
})

test.run()
