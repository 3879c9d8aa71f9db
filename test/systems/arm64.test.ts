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

/**
 * Without SVE: with its 2048 bits under qemu, a kernel that oneDNN 3.7.2 compiles ends the process.
 */
const emulator = 'qemu-aarch64 -cpu cortex-a72'

testIn('debian13-arm64', 'trixie', packages, 'arm64: the core is cross-compiled, and its tests pass under qemu', (root) => {
  root.run(forArm64)
  root.run(`${configure} && cmake --build ${build} --target tilefold_test cpu_against_reference`)
  assert.match(root.run(`${emulator} ${build}/cpu_against_reference 20`), /all agree/)
  root.run(`${emulator} ${build}/tilefold_test 1`)
})

test.run()
