import { openSession, type DeviceName, type Image } from '../../native'
import { type MemoryStepIo, createStepIo } from '../../native/session/step-io'
import type { Objective, Program, SectionName } from '../../staging'
import { testsDevice } from '../devices'
import { must } from '../must'
import type { RandomExecution } from './random-execution'

const candidates = [
  { name: 'reference', precision: 'float64' },
  { name: 'cpu', precision: 'float32' },
  { name: 'cuda', precision: 'float32' }
] as const

/** Where steps from images are tried. */
export const devices = candidates.filter(({ name }) => testsDevice(name))

export const training: Objective = {
  kind: 'train',
  optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 1e-3 },
  evaluate: true
}

/** A batch of the execution's input. */
export const imagesOf = ({ draw, input: [batch = 0, channels = 0, height = 0, width = 0] = [] }: RandomExecution): readonly Image[] =>
  Array.from({ length: batch }, () => ({
    ...{ height, width, channels, cropTop: 0, cropLeft: 0, quarterTurns: 0 as const },
    pixels: Uint8Array.from({ length: height * width * channels }, () => draw(0, 255)),
    flipHorizontal: draw(0, 1) === 1,
    flipVertical: false
  }))

/**
 * What two steps and an evaluation leave, bit by bit, the bytes of the arena that they touch, and
 * the tiles that were not computed again. A run that is traced computes all.
 */
export const outcome = async (
  device: { readonly name: DeviceName },
  { weights, batch }: RandomExecution,
  images: readonly Image[],
  program: Program,
  traces = false
) => {
  const session = must(openSession({ device: device.name, program, arenaBytes: program.peakBytes + 8192, traces }))
  const run = async (section: SectionName, io: MemoryStepIo, step = 0): Promise<ArrayBuffer> => {
    const loads = section === 'step' || section === 'evaluate'
    must(await session.run(section, io.buffer, { learningRate: 0.1, step, seed: 5 }, loads ? images : [])())
    return io.buffer
  }
  const restored = createStepIo(program.restore)
  weights.forEach((values, name) => restored.view(name).set(values))
  await run('restore', restored)
  const step = createStepIo(program.step)
  step.view('target').set(batch.target)
  const found = [
    (await run('step', step, 0)).slice(0),
    (await run('step', step, 1)).slice(0),
    await run('evaluate', createStepIo(program.evaluate!)),
    await run('save', createStepIo(program.save))
  ]
  const [measuredPeakBytes, repeatedTiles] = [session.measuredPeakBytes(), session.repeatedTiles()]
  session.close()
  return { found: found.map((buffer) => Buffer.from(buffer).toString('hex')), measuredPeakBytes, repeatedTiles }
}
