import { stage, verify, plainPeakBytes } from '../staging'
import { builtIn } from '../models'
import { deviceModel } from '../native'
const main = () => {
  const [name, size, ...fractions] = process.argv.slice(2)
  const model = builtIn[name!]!({ classes: 2, head: 'gap' })
  const device = (deviceModel('cpu', 'float32', 2) as any).right
  const base: any = { model, device, input: [1, 3, +size!, +size!], objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } }, source: { kind: 'image', mean: [0.5, 0.5, 0.5], deviation: [0.2, 0.2, 0.2] } }
  let t = Date.now()
  const plain = (plainPeakBytes(base) as any).right
  console.log(name, size, 'plain', plain / 2 ** 20, 'MiB', Date.now() - t, 'ms')
  for (const f of fractions) {
    t = Date.now()
    const [strategy, fraction] = f.split(':')
    const s: any = stage({ ...base, strategy, hostBudget: process.env.HOST ? +process.env.HOST : undefined, ...(fraction === undefined ? {} : { budget: Math.floor(plain * +fraction) }) })
    const ms = Date.now() - t
    if (s._tag === 'Left') { console.log(f, s.left.message, ms, 'ms'); continue }
    const { plan, program } = s.right
    t = Date.now()
    const v: any = verify(program)
    console.log(f, (program.peakBytes / 2 ** 20).toFixed(0), 'MiB', (program.peakBytes / plain).toFixed(3), 'step', plan.predicted.stepMilliseconds.toFixed(0), 'lower', plan.predicted.lowerBoundMilliseconds.toFixed(0), 'segments', plan.segments.length, 'planned', ms, 'ms, verified', Date.now() - t, v._tag === 'Right' ? 'ok' : v.left.message)
    if (process.env.SHOW) console.log(plan.segments.map((s: any) => `${s.from}-${s.to} ${s.grid.B}x${s.grid.H}x${s.grid.W}${s.recompute ? 'r' : ''}`).join(' | '))
  }
}
main()
