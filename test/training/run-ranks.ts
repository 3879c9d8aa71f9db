import { localNetworks, type Network, openSession, type SectionName } from '../../native'
import { setNormaliser, weightOfTargets } from '../../src/running/normaliser'
import { createStepIo, type StepIo } from '../../native/session/step-io'
import type { Staged, Training } from '../../staging'
import { stageFor, type Execution, type Tensors } from '../golden/execute'
import { must } from '../must'
import type { Batch } from './execute'

export interface RankOutcome {
  /** Parameters and optimizer state in the end. */
  readonly tensors: Tensors
  readonly measuredPeakBytes: number
}

/** Updates of one rank, each from the micro-batches of all. */
const runRank = async (
  { program, graph }: Staged,
  execution: Execution,
  network: Network,
  updates: readonly (readonly Batch[])[]
): Promise<RankOutcome> => {
  const loss = graph.nodes.at(-1)!
  const session = must(openSession({ device: execution.device, program, arenaBytes: program.peakBytes, network }))
  const run = async (section: SectionName, io: StepIo, step: number): Promise<StepIo> => {
    must(await session.run(section, io.buffer, { learningRate: 0.1, step, seed: 1 }, [])())
    return io
  }
  try {
    const restored = createStepIo(program.restore)
    execution.weights.forEach((values, name) => restored.view(name).set(values))
    await run('restore', restored, 0)
    for (const [index, batches] of updates.entries()) {
      const weight = weightOfTargets(
        loss,
        batches.flatMap(({ target }) => Array.from(target))
      )
      for (let own = network.rank; own < batches.length; own += network.size) {
        const io = createStepIo(program.step)
        io.view('input').set(batches[own]!.input)
        io.view('target').set(batches[own]!.target)
        setNormaliser(loss, weight, io)
        await run('step', io, index * batches.length + own)
        await run('reduce', createStepIo(program.reduce!), 0)
      }
      await run('update', createStepIo(program.update!), index)
    }
    const saved = await run('save', createStepIo(program.save), 0)
    return {
      tensors: new Map(program.save.stepIo.map(({ name }) => [name, saved.view(name)])),
      measuredPeakBytes: session.measuredPeakBytes()
    }
  } finally {
    session.close()
  }
}

/**
 * Updates of so many ranks, whose sessions run beside each other in this process, and the plan of
 * each.
 */
export const runRanks = async (
  execution: Execution,
  objective: Training,
  ranks: number,
  updates: readonly (readonly Batch[])[]
): Promise<{ readonly staged: Staged; readonly outcomes: readonly RankOutcome[] }> => {
  const staged = must(stageFor(execution, { ...objective, ranks, accumulate: updates[0]!.length }))
  const networks = must(localNetworks(ranks))
  const outcomes = await Promise.all(networks.map((network) => runRank(staged, execution, network, updates)))
  return { staged, outcomes }
}
