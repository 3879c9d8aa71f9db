import * as E from 'fp-ts/Either'

/**
 * A reader of pickles (https://docs.python.org/3/library/pickletools.html) that runs nothing: who
 * calls it decides what a global stands for, and objects are known by their names alone. Opcodes
 * that checkpoints do not have are refused.
 */
export type PickleValue = unknown

/** The classes and functions that a pickle may name beside plain values. */
export interface PickleGlobals {
  /** The value of calling a global, such as `collections.OrderedDict`, or a sentence against it. */
  readonly call: (name: string, args: readonly PickleValue[]) => E.Either<string, PickleValue>
  /** The value of what is stored outside of the pickle, or a sentence against it. */
  readonly persistent: (id: PickleValue) => E.Either<string, PickleValue>
}

/** A class or function that a pickle names, never looked up. */
export class PickleGlobal {
  constructor(readonly name: string) {}
}

/** What a class or function would give if it were run; of what it holds nothing is kept. */
export class PickleObject {
  constructor(readonly name: string) {}
}

/** Why a pickle is refused: thrown here, and caught here. */
class Refused extends Error {}

const refuse = (sentence: string): never => {
  throw new Refused(sentence)
}

const orRefuse = <A>(result: E.Either<string, A>): A => (E.isLeft(result) ? refuse(result.left) : result.right)

interface Machine {
  readonly bytes: Buffer
  at: number
  stack: PickleValue[]
  /** Stacks below the marks. */
  readonly below: PickleValue[][]
  readonly memo: Map<number, PickleValue>
  readonly globals: PickleGlobals
  /** Lists, tuples, dicts, marks and kept values that were made, and what calls were given. */
  made: number
}

/** A tensor takes some 30. Without a limit a short pickle could take all memory, or hours. */
const maxMade = 3e6

const count = (machine: Machine, made = 1): void => {
  machine.made += made
  if (machine.made > maxMade) refuse(`its pickle makes over ${maxMade} lists, tuples and dicts, more than are read`)
}

const take = (machine: Machine, count: number): Buffer => {
  if (count > machine.bytes.length - machine.at) refuse('its pickle ends early')
  machine.at += count
  return machine.bytes.subarray(machine.at - count, machine.at)
}

const takeLine = (machine: Machine): string => {
  const end = machine.bytes.indexOf(10, machine.at)
  if (end === -1) refuse('its pickle ends early')
  const line = take(machine, end - machine.at).toString('utf8')
  machine.at += 1
  return line
}

const takeLength = (machine: Machine): number => {
  const length = take(machine, 8).readBigUInt64LE()
  return length > BigInt(machine.bytes.length) ? refuse('its pickle ends early') : Number(length)
}

const push = (machine: Machine, value: PickleValue): void => {
  if (typeof value === 'object' && value !== null) count(machine)
  machine.stack.push(value)
}

const pop = (machine: Machine): PickleValue =>
  machine.stack.length === 0 ? refuse('its pickle takes more than it holds') : machine.stack.pop()

/** What stands above the last mark. */
const popMark = (machine: Machine): readonly PickleValue[] => {
  const above = machine.stack
  machine.stack = machine.below.pop() ?? refuse('its pickle has no mark where one is needed')
  return above
}

const top = (machine: Machine): PickleValue => machine.stack.at(-1)

const setItems = (machine: Machine, items: readonly PickleValue[]): void => {
  const target = top(machine)
  if (items.length % 2 !== 0) refuse('its pickle has a key without a value')
  if (target instanceof PickleObject) return
  if (!(target instanceof Map)) return refuse('its pickle puts items into what is no dict')
  for (let index = 0; index < items.length; index += 2) target.set(items[index], items[index + 1])
}

const append = (machine: Machine, items: readonly PickleValue[]): void => {
  const target = top(machine)
  if (target instanceof PickleObject) return
  if (!Array.isArray(target) || Object.isFrozen(target)) refuse('its pickle appends to what is no list')
  for (const item of items) (target as PickleValue[]).push(item)
}

const tuple = (machine: Machine, items: readonly PickleValue[]): void => push(machine, Object.freeze([...items]))

const popMany = (machine: Machine, count: number): readonly PickleValue[] => Array.from({ length: count }, () => pop(machine)).reverse()

const fromMemo = (machine: Machine, index: number): void =>
  push(machine, machine.memo.has(index) ? machine.memo.get(index) : refuse('its pickle refers to what it does not hold'))

const keep = (machine: Machine, index: number): void => {
  count(machine)
  machine.memo.set(index, machine.stack.length === 0 ? pop(machine) : top(machine))
}

/** Little-endian, two's complement; beyond 2^53 a bigint, which no size is. */
const integer = (bytes: Buffer): number | bigint => {
  const value = bytes.length === 0 ? 0n : BigInt.asIntN(8 * bytes.length, BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`))
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

const global = (machine: Machine, module: string, name: string): void => push(machine, new PickleGlobal(`${module}.${name}`))

const call = (machine: Machine, args: PickleValue, called: PickleValue): void => {
  if (called instanceof PickleObject) return push(machine, called)
  if (!(called instanceof PickleGlobal) || !Array.isArray(args)) return refuse('its pickle calls what is no global')
  count(
    machine,
    args.reduce((sum: number, arg: PickleValue) => sum + (Array.isArray(arg) ? arg.length : 0), args.length)
  )
  push(machine, orRefuse(machine.globals.call(called.name, args)))
}

const pushBytes = (machine: Machine, length: number): void => push(machine, take(machine, length))

/** By opcode; STOP is told apart by who runs them. */
const opcodes: Readonly<Record<string, (machine: Machine) => void>> = {
  '\x80': (machine) => void take(machine, 1), // PROTO
  '\x95': (machine) => void take(machine, 8), // FRAME
  '(': (machine) => {
    count(machine)
    machine.below.push(machine.stack)
    machine.stack = []
  },
  '0': (machine) => {
    // POP: a mark where nothing stands above it.
    if (machine.stack.length > 0) pop(machine)
    else popMark(machine)
  },
  '1': (machine) => void popMark(machine), // POP_MARK
  N: (machine) => push(machine, null),
  '\x88': (machine) => push(machine, true),
  '\x89': (machine) => push(machine, false),
  J: (machine) => push(machine, take(machine, 4).readInt32LE()),
  K: (machine) => push(machine, take(machine, 1)[0]),
  M: (machine) => push(machine, take(machine, 2).readUInt16LE()),
  '\x8a': (machine) => push(machine, integer(take(machine, take(machine, 1)[0]!))),
  G: (machine) => push(machine, take(machine, 8).readDoubleBE()),
  X: (machine) => push(machine, take(machine, take(machine, 4).readUInt32LE()).toString('utf8')),
  '\x8c': (machine) => push(machine, take(machine, take(machine, 1)[0]!).toString('utf8')),
  '\x8d': (machine) => push(machine, take(machine, takeLength(machine)).toString('utf8')),
  C: (machine) => pushBytes(machine, take(machine, 1)[0]!),
  B: (machine) => pushBytes(machine, take(machine, 4).readUInt32LE()),
  '\x8e': (machine) => pushBytes(machine, takeLength(machine)),
  '\x96': (machine) => pushBytes(machine, takeLength(machine)), // BYTEARRAY8
  '}': (machine) => push(machine, new Map()),
  ']': (machine) => push(machine, []),
  ')': (machine) => tuple(machine, []),
  '\x8f': (machine) => push(machine, new PickleObject('builtins.set')),
  '\x90': (machine) => append(machine, popMark(machine)), // ADDITEMS
  '\x91': (machine) => {
    popMark(machine)
    push(machine, new PickleObject('builtins.frozenset'))
  },
  t: (machine) => tuple(machine, popMark(machine)),
  '\x85': (machine) => tuple(machine, popMany(machine, 1)),
  '\x86': (machine) => tuple(machine, popMany(machine, 2)),
  '\x87': (machine) => tuple(machine, popMany(machine, 3)),
  s: (machine) => setItems(machine, popMany(machine, 2)),
  u: (machine) => setItems(machine, popMark(machine)),
  a: (machine) => append(machine, popMany(machine, 1)),
  e: (machine) => append(machine, popMark(machine)),
  q: (machine) => keep(machine, take(machine, 1)[0]!),
  r: (machine) => keep(machine, take(machine, 4).readUInt32LE()),
  '\x94': (machine) => keep(machine, machine.memo.size),
  h: (machine) => fromMemo(machine, take(machine, 1)[0]!),
  j: (machine) => fromMemo(machine, take(machine, 4).readUInt32LE()),
  c: (machine) => global(machine, takeLine(machine), takeLine(machine)),
  '\x93': (machine) => {
    const [module, name] = popMany(machine, 2)
    if (typeof module !== 'string' || typeof name !== 'string') return refuse('its pickle names a global that is no text')
    global(machine, module, name)
  },
  R: (machine) => call(machine, pop(machine), pop(machine)),
  '\x81': (machine) => call(machine, pop(machine), pop(machine)), // NEWOBJ
  '\x92': (machine) => {
    // NEWOBJ_EX, with arguments by name, which nothing that is called here has.
    pop(machine)
    call(machine, pop(machine), pop(machine))
  },
  Q: (machine) => push(machine, orRefuse(machine.globals.persistent(pop(machine)))),
  // BUILD: what objects hold, and a state dict's versions of its modules; nothing here reads it.
  b: (machine) => void pop(machine)
}

const stop = '.'.charCodeAt(0)

const run = (machine: Machine): PickleValue => {
  for (;;) {
    const code = take(machine, 1)[0]!
    if (code === stop) return pop(machine)
    const execute = opcodes[String.fromCharCode(code)]
    if (execute === undefined) return refuse(`its pickle has the opcode 0x${code.toString(16).padStart(2, '0')}, which no checkpoint needs`)
    execute(machine)
  }
}

/**
 * The value of a pickle: dicts are Maps, lists and tuples arrays, integers numbers, or bigints
 * where they are too large. Otherwise a sentence on what is refused.
 */
export const readPickle = (bytes: Uint8Array, globals: PickleGlobals): E.Either<string, PickleValue> => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  try {
    return E.right(run({ bytes: buffer, at: 0, stack: [], below: [], memo: new Map(), globals, made: 0 }))
  } catch (thrown) {
    if (thrown instanceof Refused) return E.left(thrown.message)
    throw thrown
  }
}
