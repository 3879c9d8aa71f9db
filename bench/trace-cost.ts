/**
 * What it costs a step to be traced: steps of one network, traced and not in turn, so that both see
 * the same machine. `npx ts-node bench/trace-cost.ts [ROUNDS [EXTENT]]`
 */
import * as E from 'fp-ts/Either'
import { cpuUsage } from 'node:process'
import { makePlan } from '../src/commands/plan'
import { fillPixels } from '../src/commands/bench'
import { createRunRecorder } from '../src/running/run-recorder'
import { type RunningNetwork, withNetwork } from '../src/running/running-network'
import { median } from './median'
import { must } from './must'
import { readCount, readOptions } from './options'

const [givenRounds = '20', givenExtent = '256'] = readOptions({ allowPositionals: true }).positionals
const [rounds, extent] = [readCount('ROUNDS', givenRounds), readCount('EXTENT', givenExtent)]

const main = async (): Promise<void> => {
  const planned = must(await makePlan({ model: 'resnet18', classes: 2, input: [1, 3, extent, extent], budget: '100%', threads: 1 })())
  const recorder = createRunRecorder()
  const opening = { planned, device: 'cpu', seed: 0 } as const
  const pixels = new Uint8Array(extent * extent * 3)
  const place = { cropTop: 0, cropLeft: 0, flipHorizontal: false, flipVertical: false, quarterTurns: 0 } as const
  const images = [{ pixels, height: extent, width: extent, channels: 3, ...place }]
  const measure = async (network: RunningNetwork, step: number): Promise<readonly [wall: number, cpu: number]> => {
    const [wall, before] = [performance.now(), cpuUsage()]
    must(await network.step({ learningRate: 0, seed: 0, step }, images)())
    const { user, system } = cpuUsage(before)
    return [performance.now() - wall, (user + system) / 1e3]
  }
  const compared = (plain: RunningNetwork, traced: RunningNetwork) => async (): Promise<E.Either<never, void>> => {
    for (const { io } of [plain, traced]) fillPixels(planned, io, 1)
    const ratios: (readonly [wall: number, cpu: number])[] = []
    const [ofPlain, ofTraced] = [[] as number[], [] as number[]]
    for (let round = 0; round <= rounds; round += 1) {
      const [a, b] = round % 2 === 0 ? [plain, traced] : [traced, plain]
      const [first, second] = [await measure(a, round), await measure(b, round)]
      const [without, noted] = round % 2 === 0 ? [first, second] : [second, first]
      if (round === 0) continue
      ratios.push([noted[0] / without[0], noted[1] / without[1]])
      ofPlain.push(without[0])
      ofTraced.push(noted[0])
    }
    const launches = recorder.runs()[0]!.timestamps.reduce((sum, { length }) => sum + length / 2, 0)
    const times = (values: readonly number[]): string =>
      `fastest ${Math.min(...values).toFixed(1)} ms, median ${median(values).toFixed(1)} ms`
    console.log(
      `${rounds} rounds of resnet18 on 1x3x${extent}x${extent} in ${planned.staged.program.peakBytes} bytes, ${launches} launches a step`
    )
    console.log(`not traced: ${times(ofPlain)}; traced: ${times(ofTraced)}`)
    const of = (which: 0 | 1): string => median(ratios.map((ratio) => ratio[which])).toFixed(4)
    console.log(`median of the rounds' ratios: ${of(0)} by the clock, ${of(1)} of the processors' time`)
    return E.right(undefined)
  }
  must(await withNetwork(opening, (plain) => withNetwork({ ...opening, recorder }, (traced) => compared(plain, traced)))())
}

void main()
