import { gradients } from '../golden/execute'
import { randomSegments } from '../staging/random-segments'
import { randomExecution } from './random-execution'
const main = async () => {
for (const seed of process.env.SEEDS!.split(',').map(Number)) {
  const { draw, graph, ...execution } = randomExecution(seed, 'graph')
  const segments = randomSegments(draw, graph)
  const norm = (a: ArrayLike<number>) => Math.hypot(...Array.from(a))
  const plain = await gradients({ ...execution, strategy: 'plain' })
  const tiled = await gradients({ ...execution, segments })
  console.log(seed, plain.loss, tiled.loss)
  for (const [n, t] of plain.tensors) console.log('  ', n, norm(t), norm(Array.from(t, (v, i) => v - tiled.tensors.get(n)![i]!)))
}
}
void main()
