/** Two ranks of Open MPI on two "machines", network namespaces with a wire of known rate. */
import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { NetworkReport } from '../../../src/commands/profile-network'
import { inSystems } from '../../in-systems'
import { compiledCommand } from '../compiled-command'
import { writeImages } from '../example-images'
import { hasLauncher, mpirun } from '../open-mpi'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const [first, second] = [`tilefold-${process.pid}-0`, `tilefold-${process.pid}-1`]
const megabits = 100

const shell = (script: string) =>
  spawnSync('bash', ['-ec', script], { encoding: 'utf8', env: { ...process.env, XDG_CACHE_HOME: at('cache') } })

const wire = (): boolean => {
  const ends = [first, second].map(
    (name, index) => `ip link set end${index} netns ${name}; ip -n ${name} addr add 10.77.0.${index + 1}/24 dev end${index}
      ip -n ${name} link set lo up; ip -n ${name} link set end${index} up
      tc -n ${name} qdisc add dev end${index} root tbf rate ${megabits}mbit burst 32kb limit 100kb`
  )
  return shell(`ip netns add ${first}; ip netns add ${second}; ip link add end0 type veth peer name end1\n${ends.join('\n')}`).status === 0
}

const isWired = inSystems && hasLauncher && wire()
if (!isWired) console.log('the test of two machines is skipped: it is one of the long tests, and asks for root, ip, tc and Open MPI')

test.after(() => void shell(`ip netns del ${first} || true; ip netns del ${second} || true`))

const onWire = isWired ? test : test.skip

/** What the command prints on two ranks, one on each machine. */
const onBoth = (script: string, args: string): string => {
  // In place of ssh: the host, and what runs there.
  writeFileSync(at('agent'), `#!/bin/bash\nshift\nexec ip netns exec ${second} unshare -u bash -c "hostname second; $*"\n`)
  chmodSync(at('agent'), 0o755)
  const ranks = `--allow-run-as-root --bind-to none --mca plm_rsh_agent ${at('agent')} --mca btl tcp,self --mca pml ob1 -n 2
    --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 -host 10.77.0.1:1,10.77.0.2:1 -x XDG_CACHE_HOME -x PATH`
  const command = `${mpirun} ${ranks.replace(/\s+/g, ' ')} ${process.execPath} ${script} ${args}`
  const { status, stdout, stderr } = shell(`ip netns exec ${first} unshare -u bash -c 'hostname first; ${command}'`)
  assert.is(status, 0, stderr)
  return stdout
}

onWire('what two machines exchange travels both ways at once, at nearly the rate of the wire', () => {
  const { messages } = JSON.parse(onBoth(compiledCommand().script, 'profile --network --json')) as NetworkReport
  const { bytes, milliseconds } = messages.at(-1)!
  const alone = (8 * bytes) / (1000 * megabits)
  // One way after the other it takes twice as long.
  assert.ok(milliseconds < 1.4 * alone, `${bytes} bytes both ways took ${milliseconds} ms, and one way take ${alone} ms`)
})

onWire('an update over the wire takes what is predicted, within a fifth', async () => {
  await writeImages(at('images'), 4)
  const { script, run } = compiledCommand()
  const network = 'vgg16 --classes 2 --input 1x3x64x64 --accumulate 2 --threads 1 --budget 100% --no-measure --json'
  // Micro-batches are shared, though another mesh, on which little travels, is predicted faster.
  const mesh = ['--ranks', '2', '--shard-rows', '1', '--network', `${megabits}Mb/s,250us`]
  const planned = await run(['plan', ...network.split(' '), ...mesh])
  assert.is(planned.status, 0, planned.stderr)
  const { predictedStepMs } = JSON.parse(planned.stdout) as { readonly predictedStepMs: number }
  const trained = onBoth(script, `train ${network} --data ${at('images')} --steps 6 --quiet`)
  const { stepMs } = JSON.parse(trained) as { readonly stepMs: readonly number[] }
  const median = [...stepMs].sort((a, b) => a - b)[stepMs.length >> 1]!
  assert.ok(Math.abs(median / predictedStepMs - 1) < 0.2, `an update took ${median} ms, and ${predictedStepMs} were predicted`)
})

test.run()
