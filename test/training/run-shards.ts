import { localNetworks, type Network, openSession, type SectionName } from '../../native'
import { setNormaliser, weightOfTargets } from '../../src/running/normaliser'
import { createStepIo, type StepIo } from '../../native/session/step-io'
import type { Staged, Training } from '../../staging'
import { stageFor, type Execution, type Tensors } from '../golden/execute'
import { must } from '../must'
import type { Batch } from './execute'

export interface ShardOutcome {
  readonly staged: Staged
  /** This rank's part of the loss, of each step. */
  readonly losses: readonly number[]
  /** Parameters and optimizer state in the end. */
  readonly tensors: Tensors
  readonly measuredPeakBytes: number
}

/** Updates of one rank, of its rows of its group's micro-batches. */
const runShard = async (
  staged: Staged,
  execution: Execution,
  network: Network,
  updates: readonly (readonly Batch[])[],
  { group, groups }: { readonly group: number; readonly groups: number }
): Promise<ShardOutcome> => {
  const { program, graph } = staged
  const loss = graph.nodes.at(-1)!
  const session = must(openSession({ device: execution.device, program, arenaBytes: program.peakBytes, network }))
  const run = async (section: SectionName, io: StepIo, step: number): Promise<StepIo> => {
    must(await session.run(section, io.buffer, { learningRate: 0.1, step, seed: execution.seed ?? 1 }, [])())
    return io
  }
  const losses: number[] = []
  try {
    const restored = createStepIo(program.restore)
    execution.weights.forEach((values, name) => restored.view(name).set(values))
    await run('restore', restored, 0)
    for (const [index, batches] of updates.entries()) {
      const weight = weightOfTargets(
        loss,
        batches.flatMap(({ target }) => Array.from(target))
      )
      for (let own = group; own < batches.length; own += groups) {
        const { input, target } = batches[own]!
        const io = createStepIo(program.step)
        io.view('input').set(input)
        io.view('target').set(target)
        setNormaliser(loss, weight, io)
        await run('step', io, index * batches.length + own)
        losses.push(io.view('loss')[0]!)
        await run('reduce', createStepIo(program.reduce!), 0)
      }
      await run('update', createStepIo(program.update!), index)
    }
    const saved = await run('save', createStepIo(program.save), 0)
    return {
      staged,
      losses,
      tensors: new Map(program.save.stepIo.map(({ name }) => [name, saved.view(name)])),
      measuredPeakBytes: session.measuredPeakBytes()
    }
  } finally {
    session.close()
  }
}

/** The Programs of so many ranks that share the rows of each image, of each group of them. */
export const stageShards = (execution: Execution, objective: Training, count: number, images = 1): readonly Staged[] =>
  Array.from({ length: count }, (_, index) => must(stageFor(execution, { ...objective, shard: { count, index, images } })))

/**
 * Updates of ranks that share rows, in groups that share micro-batches, whose sessions run beside
 * each other in this process.
 */
export const runShards = async (
  execution: Execution,
  staged: readonly Staged[],
  updates: readonly (readonly Batch[])[],
  groups = 1
): Promise<readonly ShardOutcome[]> => {
  const count = staged.length
  const networks = must(localNetworks(groups * count))
  return Promise.all(
    networks.map(async (network, rank) => {
      try {
        return await runShard(staged[rank % count]!, execution, network, updates, { group: Math.floor(rank / count), groups })
      } catch (thrown) {
        network.leave(1)
        throw thrown
      }
    })
  )
}
