import {
  type DeviceModel,
  type NetworkInstruction,
  type NetworkRates,
  type Section,
  type Staged,
  elementSizes,
  exchangedBytes,
  gradientNames,
  leastOfOneRank,
  listExchanges,
  microBatches,
  nameOfSent,
  networkNanoseconds
} from '../../staging'
import { formatBytes, formatMilliseconds } from '../text/format'
import { type Mesh, meshOf, meshText, ranksOfGroup } from './mesh'

/** What ranks exchange of one kind in an update. */
export interface ExchangeReport {
  readonly what: 'rows' | 'statistics' | 'gradients'
  /** Times that ranks meet for it. */
  readonly rounds: number
  /** Bytes that one rank receives of others. */
  readonly bytes: number
  /** Predicted, by itself: what computes beside it is not taken off. */
  readonly milliseconds: number
}

/** Predicted figures of an update on ranks. */
export interface RankReport {
  readonly ranks: number
  readonly mesh: Mesh
  readonly network: NetworkRates
  readonly exchanged: readonly ExchangeReport[]
  /**
   * Milliseconds of a step of one process with all the memory that it wants, by its fastest
   * kernels.
   */
  readonly oneRankMs: number
  readonly speedUp: number
  /** The part that takes the most time of an update. */
  readonly boundBy: 'computing' | 'what ranks compute twice or alike' | ExchangeReport['what']
  /** By segment, what the rank receives where it ends, forward and backward, in bytes. */
  readonly receivedBytes: readonly number[]
}

const sentBytes = (one: NetworkInstruction): number =>
  one.kind === 'allToAll' ? (one.ranks - 1) * one.bytes : one.receives.reduce((sum, { bytes }) => sum + bytes, 0)

const addUp = (
  what: ExchangeReport['what'],
  sections: readonly (readonly [section: Section | undefined, times: number])[],
  isOne: (one: NetworkInstruction) => boolean,
  device: Pick<DeviceModel, 'network'>
): ExchangeReport => {
  const all = sections.flatMap(([section, times]) =>
    listExchanges(section?.code ?? [])
      // A gradient that one rank adds alone goes nowhere.
      .filter((one) => isOne(one) && sentBytes(one) > 0)
      .map((one) => ({ one, times }))
  )
  return {
    what,
    rounds: all.reduce((sum, { times }) => sum + times, 0),
    bytes: all.reduce((sum, { one, times }) => sum + times * sentBytes(one), 0),
    milliseconds: all.reduce((sum, { one, times }) => sum + times * (networkNanoseconds(device, one) / 1e6), 0)
  }
}

/**
 * What ranks exchange in an update of a plan, and what that makes of its time; undefined for one
 * process.
 */
export const rankReport = ({ graph, plan, program, predicted }: Staged, device: DeviceModel): RankReport | undefined => {
  const { objective } = graph
  const { network } = device
  const mesh = meshOf(objective)
  if (objective.kind !== 'train' || mesh === undefined || network === undefined) return undefined
  const ranks = mesh.microBatches * ranksOfGroup(mesh)
  const steps = microBatches(objective) / mesh.microBatches
  // Of micro-batches the section `reduce` brings moments too.
  const isOfMoments = (one: NetworkInstruction): boolean =>
    one.kind === 'allToAll' && program.buffers[one.send.buffer ?? -1]?.kind === 'activations'
  // Of a step some add gradients beside the backward pass.
  const gradients = gradientNames(program.persistentTensors)
  const isOfGradients = (one: NetworkInstruction): boolean => gradients.has(nameOfSent(program, one) ?? '')
  // What all gather and no statistics are is a sum over rows.
  const merged = new Set(program.shard?.merged)
  const isOfStatistics = (one: NetworkInstruction): boolean => merged.has(nameOfSent(program, one) ?? '')
  const exchanged = [
    addUp('rows', [[program.step, steps]], (one) => !isOfStatistics(one) && !isOfGradients(one), device),
    addUp('statistics', [[program.step, steps]], isOfStatistics, device),
    addUp('gradients', [[program.step, steps]], isOfGradients, device),
    addUp('statistics', [[program.reduce, steps]], isOfMoments, device),
    addUp('gradients', [[program.reduce, steps]], (one) => !isOfMoments(one), device),
    addUp('gradients', [[program.update, 1]], () => true, device)
  ]
  const kinds = (['rows', 'statistics', 'gradients'] as const).map((what) =>
    exchanged
      .filter((one) => one.what === what)
      .reduce((sum, one) => ({
        what,
        rounds: sum.rounds + one.rounds,
        bytes: sum.bytes + one.bytes,
        milliseconds: sum.milliseconds + one.milliseconds
      }))
  )
  const oneRankMs = leastOfOneRank(graph, device)
  const { stepMilliseconds } = predicted
  const travelling = kinds.reduce((sum, { milliseconds }) => sum + milliseconds, 0)
  const rest = stepMilliseconds - travelling - oneRankMs / ranks
  const parts: readonly (readonly [RankReport['boundBy'], number])[] = [
    ['computing', oneRankMs / ranks],
    ['what ranks compute twice or alike', rest],
    // Below 0 by what travels beside computing: gradients do.
    ...kinds.map(({ what, milliseconds }) => [what, milliseconds + (what === 'gradients' ? Math.min(0, rest) : 0)] as const)
  ]
  return {
    ranks,
    mesh,
    network,
    exchanged: kinds.filter(({ rounds }) => rounds > 0),
    oneRankMs,
    speedUp: oneRankMs / stepMilliseconds,
    boundBy: parts.reduce((most, one) => (one[1] > most[1] ? one : most))[0],
    receivedBytes: exchangedBytes(graph, plan, elementSizes(program.precision)).map((one) => one.rows + one.statistics)
  }
}

/** `10 Gb/s, 20 µs`, and where it was measured, between whom. */
export const networkText = ({ bytesPerSecond, latencySeconds, measured }: NetworkRates): string => {
  const rates = `${rateText(bytesPerSecond)}, ${Number((1e6 * latencySeconds).toPrecision(3))} µs`
  if (measured === undefined) return rates
  const { ranks, machines } = measured
  return `${rates}, measured between ${ranks} ranks on ${machines} ${machines === 1 ? 'machine' : 'machines'}`
}

const rateText = (bytesPerSecond: number): string => `${Number((bytesPerSecond / 1.25e8).toPrecision(3))} Gb/s`

/** The report in rows of what is predicted. */
export const rankRows = ({ ranks, mesh, network, exchanged, oneRankMs, speedUp, boundBy }: RankReport): readonly (readonly string[])[] => [
  ['ranks', `${ranks}: ${meshText(mesh)}`],
  ['network', networkText(network)],
  ...exchanged.map(({ what, rounds, bytes, milliseconds }) => [
    `exchanged ${what}`,
    `${formatBytes(bytes)} received by a rank in ${rounds} ${rounds === 1 ? 'round' : 'rounds'}, ${formatMilliseconds(milliseconds)}`
  ]),
  ['speed-up', `${speedUp.toFixed(2)} over one process with all the memory it wants (${formatMilliseconds(oneRankMs)})`],
  ['most time goes to', boundBy]
]
