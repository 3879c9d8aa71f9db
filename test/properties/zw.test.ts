import { gradients } from '../golden/execute'
import { randomExecution } from './random-execution'
const main = async () => {
  const { draw, graph, ...execution } = randomExecution(61, 'graph')
  const norm = (a: ArrayLike<number>) => Math.hypot(...Array.from(a))
  const u = { B: 1, H: 1, W: 1 }
  const plain = await gradients({ ...execution, strategy: 'plain' })
  const cases: any = {
    keep: [{ from: 0, to: 6, grid: u, recompute: false, reorder: 'once' }, { from: 6, to: 10, grid: u, recompute: false, reorder: 'once' }],
    again: [{ from: 0, to: 6, grid: u, recompute: true, reorder: 'once' }, { from: 6, to: 10, grid: u, recompute: false, reorder: 'once' }],
    b2: [{ from: 0, to: 6, grid: { B: 2, H: 1, W: 1 }, recompute: true, reorder: 'once' }, { from: 6, to: 10, grid: u, recompute: false, reorder: 'once' }]
  }
  for (const [k, segments] of Object.entries(cases)) {
    const tiled = await gradients({ ...execution, segments: segments as never })
    console.log(k, [...plain.tensors].map(([n, t]) => n + ' ' + norm(Array.from(t, (v, i) => v - tiled.tensors.get(n)![i]!)).toExponential(1)).join('  '))
  }
  // finite differences of input
  const x = Float64Array.from(execution.batch.input), d = x.map((_, i) => Math.sin(i * 7)), e = 1e-6
  const at = async (s: number) => (await gradients({ ...execution, strategy: 'plain', batch: { ...execution.batch, input: x.map((v, i) => v + s * d[i]!) } })).loss
  const slope = ((await at(e)) - (await at(-e))) / 2 / e
  console.log('fd', slope, 'plain', plain.tensors.get('grad.input')!.reduce((s: number, g: number, i: number) => s + g * d[i]!, 0))
}
void main()
