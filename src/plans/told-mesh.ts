import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../failure'
import { type Mesh, ranksOfGroup } from './mesh'

/** How ranks are told to share micro-batches, as `train` has it. */
export interface ToldSharing {
  /** Into how many parts the images of a micro-batch go; true for all ranks, false for none. */
  readonly shardImages: boolean | number
  /** The same of the rows of each image. */
  readonly shardRows: boolean | number
  readonly shardOptimizer: boolean
}

/**
 * How so many ranks share updates: those of a group share a micro-batch, one after the other, and
 * groups share micro-batches. A number is a fraction where the ranks make no such groups.
 */
export const toldMesh = ({ shardRows, shardImages, shardOptimizer }: ToldSharing, size: number): Mesh => {
  const told = (parts: number | boolean): number => (typeof parts === 'number' ? parts : 1)
  const images = shardImages === true ? size / told(shardRows) : told(shardImages)
  const rows = shardRows === true ? size / images : told(shardRows)
  return { microBatches: size / (rows * images), rows, ...(images !== 1 && { images }), ...(shardOptimizer && { shardsOptimizer: true }) }
}

/** A sentence on ranks that make no groups of the size that options ask for. */
const groupsFailure = ({ shardImages, shardRows }: ToldSharing, size: number): string => {
  const asked = [
    { what: 'images', option: '--shard-images', parts: shardImages },
    { what: 'rows', option: '--shard-rows', parts: shardRows }
  ].filter(({ parts }) => typeof parts === 'number')
  const group = asked.reduce((product, { parts }) => product * Number(parts), 1)
  const [names, options] = [asked.map(({ what }) => what).join(' and '), asked.map(({ option }) => option).join(' and ')]
  return size === 1
    ? `a single rank makes no group of ${group} that share ${names}: start a multiple of ${group}, or leave ${options} out`
    : `${size} ranks make no groups of ${group} that share ${names}: start a multiple of ${group}, or give ${options} a divisor of ${size}`
}

/**
 * The mesh of so many ranks, as they are told to share updates of so many micro-batches; one
 * sentence where there is none.
 */
export const checkToldMesh = (sharing: ToldSharing, accumulate: number, size: number): E.Either<Failure, Mesh> => {
  const mesh = toldMesh(sharing, size)
  const { microBatches, rows, images = 1 } = mesh
  if (sharing.shardImages === true && sharing.shardRows === true)
    return E.left(inputFailure('--shard-images and --shard-rows: say of one of them into how many parts'))
  if (![microBatches, rows, images].every(Number.isSafeInteger)) return E.left(inputFailure(groupsFailure(sharing, size)))
  const group = ranksOfGroup(mesh)
  return accumulate % microBatches === 0
    ? E.right(mesh)
    : E.left(
        inputFailure(
          `${microBatches} ${group > 1 ? `groups of ${group} ranks` : 'ranks'} share the micro-batches of an update: give --accumulate ${microBatches}, or a multiple of it, in place of ${accumulate}`
        )
      )
}
