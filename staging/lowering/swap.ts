import type { Residence } from '../plan'
import type { Engine } from '../program'
import { at, type Buffer, type Pool, type Virtual, type VirtualInstruction } from './emitter'
import { keptTensors, positionOf, type KeptTensor, type StepCode } from './kept'

/** Why a tensor cannot wait on the host as decided; `momentText` says a moment in words. */
export const stayMistake = (
  step: StepCode,
  pool: Pick<Pool, 'kernels'>,
  residence: Residence,
  momentText: (moment: number) => string
): string | undefined => {
  const kept = new Map(keptTensors(step, pool).map((tensor) => [tensor.name, tensor]))
  const seen = new Set<string>()
  for (const { tensor, swapOut, freed, swapIn } of residence) {
    const found = kept.get(tensor)
    if (found === undefined) return `residence: no ${tensor} is kept from forward to backward`
    if (seen.has(tensor)) return `residence: ${tensor} is listed twice`
    seen.add(tensor)
    const [out, free, back] = [swapOut, freed, swapIn].map((moment) => positionOf(step, moment))
    if (out! <= found.written) return `residence: ${tensor} is not there yet before ${momentText(swapOut)}; it must be swapped out later`
    if (free! <= found.forward) return `residence: ${tensor} is still read from ${momentText(freed)} on; it must be freed later`
    if (free! < out!) return `residence: ${tensor} is freed before it is swapped out`
    if (back! < free!) return `residence: ${tensor} is swapped in before it is freed`
    if (back! > found.backward) return `residence: ${tensor} is read before ${momentText(swapIn)}; it must be swapped in earlier`
  }
  return undefined
}

/** A stay on the host in the step's code: each transfer begins, and each wait stands, right before its position. */
interface Stay {
  readonly tensor: KeptTensor
  readonly swapOut: number
  readonly freed: number
  readonly swapIn: number
  readonly host: Buffer
  readonly again: Buffer
  readonly left: number
  readonly arrived: number
}

/** What stands before the instruction at `position`. */
const insertedAt = (position: number, stays: readonly Stay[], freshEvent: () => number): readonly VirtualInstruction[] => {
  /** Copies that begin once computing has come here. */
  const started = (
    engine: Exclude<Engine, 'compute'>,
    starting: readonly Stay[],
    ends: (stay: Stay) => { readonly device: Buffer; readonly event: number }
  ): readonly VirtualInstruction[] => {
    if (starting.length === 0) return []
    const here = freshEvent()
    const copies = starting.flatMap((stay): readonly VirtualInstruction[] => {
      const { device, event } = ends(stay)
      const { bytes } = device
      return [
        {
          kind: 'copy',
          engine,
          rows: 1,
          rowBytes: bytes,
          deviceRowStride: bytes,
          hostRowStride: bytes,
          device: at(device),
          host: at(stay.host)
        },
        { kind: 'record', engine, event }
      ]
    })
    return [{ kind: 'record', engine: 'compute', event: here }, { kind: 'wait', engine, event: here }, ...copies]
  }
  const leaving = stays.filter(({ swapOut }) => swapOut === position)
  const freed = stays.filter((stay) => stay.freed === position)
  const entering = stays.filter(({ swapIn }) => swapIn === position).sort((a, b) => a.tensor.backward - b.tensor.backward)
  const wanted = stays.filter(({ tensor: { backward } }) => backward === position)
  return [
    ...started('to-host', leaving, ({ tensor, left }) => ({ device: tensor.buffer, event: left })),
    ...freed.map(({ tensor, left }) => ({ kind: 'wait', engine: 'compute', event: left, device: tensor.buffer }) as const),
    // After what is freed here: its place may be theirs.
    ...started('to-device', entering, ({ again, arrived }) => ({ device: again, event: arrived })),
    ...wanted.map(({ host, arrived }) => ({ kind: 'wait', engine: 'compute', event: arrived, host }) as const)
  ]
}

/** The step with the transfers of a residence that has no mistake. What comes back has a buffer of its own (see ProgramBuffer). */
export const withSwaps = (step: StepCode, pool: Pool, residence: Residence): readonly VirtualInstruction[] => {
  if (residence.length === 0) return step.code
  const kept = new Map(keptTensors(step, pool).map((tensor) => [tensor.name, tensor]))
  const stays = residence.map(({ tensor: name, ...moments }): Stay => {
    const tensor = kept.get(name)!
    const copyOf = (label: string): Buffer => ({ ...tensor.buffer, id: pool.freshBuffer(), name: label })
    return {
      tensor,
      swapOut: positionOf(step, moments.swapOut),
      freed: positionOf(step, moments.freed),
      swapIn: positionOf(step, moments.swapIn),
      host: copyOf(`${name} on the host`),
      again: copyOf(`swapped-in ${name}`),
      left: pool.freshEvent(),
      arrived: pool.freshEvent()
    }
  })
  const again = new Map(stays.map(({ tensor: { buffer, backward }, again }) => [buffer.id, { again, backward }]))
  const renamed = (one: VirtualInstruction, position: number): VirtualInstruction => {
    if (one.kind === 'loop') return { ...one, body: one.body.map((inner) => renamed(inner, position)) }
    const operand = <V extends Virtual>(each: V): V => {
      const back = each.space === 'arena' ? again.get(each.buffer.id) : undefined
      return back !== undefined && position >= back.backward ? { ...each, buffer: back.again } : each
    }
    if (one.kind === 'copy') return { ...one, device: operand(one.device) }
    return one.kind === 'launch' ? { ...one, operands: one.operands.map(operand) } : one
  }
  return step.code.flatMap((one, position) => [...insertedAt(position, stays, pool.freshEvent), renamed(one, position)])
}
