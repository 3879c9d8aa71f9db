import type { OffloadSet } from './schedule'
import type { DiscretisedChain } from './slots'

/**
 * The states of Algorithm 1 before stage i, by increasing `kept`. In slots: activations before x_i
 * that are not offloaded (kept); what of the others the link has still to offload when F_(i-1) ends
 * (delta_F), and what of them it prefetches before B_(i-1) starts (delta_B), both negative where
 * the link is idle then, by how long; how long operations have waited (idle). The paper's M_F is
 * kept + |x_i| + max(0, delta_F), and its M_B kept + |x_i| + |y_i| + max(0, delta_B).
 */
interface Layer {
  readonly length: number
  readonly kept: Int32Array
  readonly deltaF: Int32Array
  readonly deltaB: Int32Array
  readonly idle: Int32Array
  /** Twice the index of the state before it, plus one where x_(i-1) is offloaded. */
  readonly cameFrom: Int32Array
}

const createLayer = (capacity: number): Layer & { length: number } => ({
  length: 0,
  kept: new Int32Array(capacity),
  deltaF: new Int32Array(capacity),
  deltaB: new Int32Array(capacity),
  idle: new Int32Array(capacity),
  cameFrom: new Int32Array(capacity)
})

/** Every state's two successors: 2s keeps x_i of state s, 2s + 1 offloads it. */
const listSuccessors = (layer: Layer, chain: DiscretisedChain, i: number): Layer => {
  const all = createLayer(2 * layer.length)
  const [x, roomF, roomB, moveF, moveB] = [chain.x[i]!, chain.roomF[i]!, chain.roomB[i]!, chain.moveF[i]!, chain.moveB[i]!]
  const least = -longest(chain)
  for (let state = 0; state < layer.length; state++) {
    const kept = layer.kept[state]!
    const deltaF = layer.deltaF[state]!
    const deltaB = layer.deltaB[state]!
    const waitF = Math.max(0, kept + Math.max(0, deltaF) - roomF) // (1)
    const waitB = Math.max(0, kept + Math.max(0, deltaB) - roomB) // (6) with ex_B
    const idle = layer.idle[state]! + waitF + waitB
    const keep = 2 * state
    all.kept[keep] = kept + x
    all.deltaF[keep] = Math.max(least, deltaF - waitF - moveF) // (4)
    all.deltaB[keep] = Math.max(least, deltaB - waitB - moveB) // (8)
    all.idle[keep] = idle
    const offload = keep + 1
    all.kept[offload] = kept
    all.deltaF[offload] = Math.max(least, Math.max(0, deltaF) + x - waitF - moveF) // (2)
    all.deltaB[offload] = x + Math.max(0, deltaB - waitB - moveB) // (7)
    all.idle[offload] = idle
  }
  all.length = 2 * layer.length
  return all
}

/**
 * More than any backlog of transfers: a link that was idle for longer is as good as one idle for
 * ever.
 */
const longest = ({ count }: DiscretisedChain): number => 2 * count

/** 2 idle + deltaF + deltaB, which is least for a state that makes others needless. */
const statePriority = (states: Layer, state: number): number => 2 * states.idle[state]! + states.deltaF[state]! + states.deltaB[state]!

/**
 * Indices of the states that keep at most `room`, by increasing kept, then by increasing weight.
 */
const inOrder = (states: Layer, chain: DiscretisedChain, room: number): Float64Array => {
  const ends = new Int32Array(room + 2)
  for (let state = 0; state < states.length; state++) if (states.kept[state]! <= room) ends[states.kept[state]! + 1]!++
  for (let kept = 0; kept <= room; kept++) ends[kept + 1]! += ends[kept]!
  const keys = new Float64Array(ends[room + 1]!)
  const places = ends.slice()
  const lightest = -2 * longest(chain)
  for (let state = 0; state < states.length; state++)
    if (states.kept[state]! <= room)
      keys[places[states.kept[state]!]!++] = (statePriority(states, state) - lightest) * states.length + state
  for (let kept = 0; kept <= room; kept++) keys.subarray(ends[kept]!, ends[kept + 1]!).sort()
  for (let place = 0; place < keys.length; place++) keys[place]! %= states.length
  return keys
}

/**
 * States that none other makes needless. Where two keep as much, one that waits until its backlogs
 * are no longer than the other's, and has then waited no longer than the other, leads to schedules
 * that are as short. It comes first in `order`.
 */
const dropDominated = (states: Layer, order: Float64Array): Layer => {
  const best = createLayer(order.length)
  let [length, first] = [0, 0]
  for (let place = 0; place < order.length; place++) {
    const state = order[place]!
    const kept = states.kept[state]!
    const deltaF = states.deltaF[state]!
    const deltaB = states.deltaB[state]!
    const idle = states.idle[state]!
    if (length > 0 && best.kept[length - 1] !== kept) first = length
    let other = first
    while (
      other < length &&
      best.idle[other]! + Math.max(0, best.deltaF[other]! - deltaF) + Math.max(0, best.deltaB[other]! - deltaB) > idle
    )
      other++
    if (other < length) continue
    best.kept[length] = kept
    best.deltaF[length] = deltaF
    best.deltaB[length] = deltaB
    best.idle[length] = idle
    best.cameFrom[length] = state
    length++
  }
  best.length = length
  return best
}

/**
 * Idle time between F_L and B_L after a last layer's state, (9) and (10) of section 5.2.2. Offloads
 * after F_L and prefetches before B_L take the link in turn; where there is one of them only, the
 * link's idle time on the other side is at its disposal: deltaF + deltaB. B_j must wait until
 * enough has been offloaded: of all that is kept or has still to go, less what was freed by then
 * (x_(j+2) and later), so much that what remains fits beside x_j and x_(j+1). And F_j must have
 * ended before too much has come back.
 */
const gapAfter = (chain: DiscretisedChain): ((last: Layer, state: number) => number) => {
  const most = (room: Int32Array, move: Int32Array): number => {
    let [later, freed, result] = [0, 0, -Infinity]
    for (let j = chain.x.length - 1; j >= 0; j--) {
      freed += chain.x[j]!
      result = Math.max(result, -room[j]! - freed - later)
      later += move[j]!
    }
    return result
  }
  const [afterB, afterF] = [most(chain.roomB, chain.moveB), most(chain.roomF, chain.moveF)]
  return ({ kept, deltaF, deltaB }, state) => {
    const [all, toOffload, toPrefetch] = [kept[state]!, deltaF[state]!, deltaB[state]!]
    return Math.max(0, toOffload + toPrefetch, toOffload + all + afterB, toPrefetch + all + afterF)
  }
}

/** The largest `kept` with which each stage and all after it fit. */
const computeRooms = ({ x, roomF, roomB, count }: DiscretisedChain): Int32Array => {
  const rooms = new Int32Array(x.length + 1).fill(2 * count)
  for (let i = x.length - 1; i >= 0; i--) rooms[i] = Math.min(rooms[i + 1]!, roomF[i]!, roomB[i]!)
  return rooms
}

interface LeastIdle {
  /** Sets that are equally good, by increasing slots that they keep. */
  readonly sets: readonly OffloadSet[]
  /** Slots that the link moves while operations wait. */
  readonly idle: number
}

/**
 * Algorithm 1 of section 5.3.1: the offload sets whose ordered schedule waits least, where
 * transfers may be interrupted and free memory slot by slot. The paper keeps states in hash tables;
 * here those that others make needless are dropped, and the rest lie in typed arrays. Each
 * operation must fit by itself.
 */
export const minimizeIdle = (chain: DiscretisedChain): LeastIdle => {
  const rooms = computeRooms(chain)
  const stages = chain.x.length
  let layer: Layer = { ...createLayer(1), length: 1 }
  const cameFrom: Int32Array[] = []
  for (let i = 0; i < stages; i++) {
    const successors = listSuccessors(layer, chain, i)
    layer = dropDominated(successors, inOrder(successors, chain, rooms[i + 1]!))
    cameFrom.push(layer.cameFrom.slice(0, layer.length))
  }
  const gap = gapAfter(chain)
  const totals = Array.from({ length: layer.length }, (_, state) => layer.idle[state]! + gap(layer, state))
  const idle = totals.reduce((least, total) => Math.min(least, total), Infinity)
  const setOf = (last: number): OffloadSet => {
    const offload: boolean[] = []
    for (let [i, state] = [stages - 1, last]; i >= 0; i--) {
      const successor = cameFrom[i]![state]!
      offload[i] = successor % 2 === 1
      state = successor >> 1
    }
    return offload
  }
  const best = [...totals.keys()].filter((state) => totals[state] === idle)
  // One for each number of slots that are kept.
  const sets = best.filter((state, index) => index === 0 || layer.kept[state] !== layer.kept[best[index - 1]!]).map(setOf)
  return { sets, idle }
}
