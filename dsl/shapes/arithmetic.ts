/**
 * Arithmetic on number literals in types: Add, Sub, Mul, Lte, Divides and ConvDim. Any operand that
 * is only `number` makes the result `number` (or true). Exact up to 2^53; what no double holds is
 * `number`. Schoolbook algorithms on strings of decimal digits, lowest first; most parameters are
 * unconstrained, because the compiler would expand every combination of digits to check a
 * constraint.
 */

interface Units {
  '0': []
  '1': [1]
  '2': [1, 1]
  '3': [1, 1, 1]
  '4': [1, 1, 1, 1]
  '5': [1, 1, 1, 1, 1]
  '6': [1, 1, 1, 1, 1, 1]
  '7': [1, 1, 1, 1, 1, 1, 1]
  '8': [1, 1, 1, 1, 1, 1, 1, 1]
  '9': [1, 1, 1, 1, 1, 1, 1, 1, 1]
}
type Digit = keyof Units

type Reverse<A, Out extends string = ''> = A extends `${infer D}${infer Rest}` ? Reverse<Rest, `${D}${Out}`> : Out
type Digits<N extends number> = Reverse<`${N}`>
type NumberOf<A> = Reverse<A> extends `${infer N extends number}` ? N : never

/** Drops zeros above the highest digit. */
type Trim<A> = A extends '0' ? A : A extends `${infer Rest}0` ? Trim<Rest> : A

/** [digit, carry] of a tuple's length, below 100. */
type Split<Tuple> = Tuple extends { length: infer N extends number }
  ? `${N}` extends `${infer Tens extends Digit}${infer Ones extends Digit}`
    ? [Ones, Tens]
    : [`${N}`, '0']
  : never
type DigitSum<A extends Digit, B extends Digit, Carry extends Digit> = Split<[...Units[A], ...Units[B], ...Units[Carry]]>

type Sum<A, B, Carry extends Digit = '0', Out extends string = ''> = A extends `${infer X extends Digit}${infer RestA}`
  ? B extends `${infer Y extends Digit}${infer RestB}`
    ? DigitSum<X, Y, Carry> extends [infer D extends Digit, infer C extends Digit]
      ? Sum<RestA, RestB, C, `${Out}${D}`>
      : never
    : Carry extends '0'
      ? `${Out}${A & string}`
      : Sum<A, Carry, '0', Out>
  : B extends ''
    ? Carry extends '0'
      ? Out
      : `${Out}${Carry}`
    : Sum<B, '', Carry, Out>

/** [digit, borrow] of A - B - Borrow. */
type DigitDifference<A extends Digit, B extends Digit, Borrow extends Digit> = Units[A] extends [
  ...Units[B],
  ...Units[Borrow],
  ...infer Rest
]
  ? [`${Rest['length']}`, '0']
  : [1, ...Units['9'], ...Units[A]] extends [...Units[B], ...Units[Borrow], ...infer Rest]
    ? [`${Rest['length']}`, '1']
    : never

/** A - B, or never where that is negative. */
type Difference<A, B, Borrow extends Digit = '0', Out extends string = ''> = A extends `${infer X extends Digit}${infer RestA}`
  ? B extends `${infer Y extends Digit}${infer RestB}`
    ? DigitDifference<X, Y, Borrow> extends [infer D extends Digit, infer C extends Digit]
      ? Difference<RestA, RestB, C, `${Out}${D}`>
      : never
    : Borrow extends '0'
      ? Trim<`${Out}${A & string}`>
      : Difference<A, '1', '0', Out>
  : B extends ''
    ? Borrow extends '0'
      ? Trim<Out>
      : never
    : never

interface Repeat<U extends 1[]> {
  '0': []
  '1': U
  '2': [...U, ...U]
  '3': [...U, ...U, ...U]
  '4': [...U, ...U, ...U, ...U]
  '5': [...U, ...U, ...U, ...U, ...U]
  '6': [...U, ...U, ...U, ...U, ...U, ...U]
  '7': [...U, ...U, ...U, ...U, ...U, ...U, ...U]
  '8': [...U, ...U, ...U, ...U, ...U, ...U, ...U, ...U]
  '9': [...U, ...U, ...U, ...U, ...U, ...U, ...U, ...U, ...U]
}
type DigitProduct<A extends Digit, B extends Digit, Carry extends Digit> = Split<[...Repeat<Units[A]>[B], ...Units[Carry]]>

/** A times one digit. */
type Scaled<A, B extends Digit, Carry extends Digit = '0', Out extends string = ''> = A extends `${infer X extends Digit}${infer Rest}`
  ? DigitProduct<X, B, Carry> extends [infer D extends Digit, infer C extends Digit]
    ? Scaled<Rest, B, C, `${Out}${D}`>
    : never
  : Carry extends '0'
    ? Out
    : `${Out}${Carry}`

/** A times B by Horner's rule; the digits of B come highest first. */
type Product<A, B, Out = ''> = B extends `${infer D extends Digit}${infer Rest}`
  ? Product<A, Rest, D extends '0' ? `0${Out & string}` : Sum<`0${Out & string}`, Scaled<A, D>>>
  : Trim<Out>

/** [how often B fits into A, what is left], for quotients below 10. */
type DigitQuotient<A, B, Count extends 1[] = []> = [Difference<A, B>] extends [never]
  ? [`${Count['length']}`, A]
  : DigitQuotient<Difference<A, B>, B, [...Count, 1]>

/**
 * [quotient, remainder] by long division; the digits of A and of the quotient come highest first.
 */
type Quotient<A, B, Rest = '0', Out extends string = ''> = A extends `${infer D}${infer Lower}`
  ? DigitQuotient<Trim<`${D}${Rest & string}`>, B> extends [infer Q extends string, infer R extends string]
    ? Quotient<Lower, B, R, `${Out}${Q}`>
    : never
  : [Trim<Reverse<Out>>, Rest]

/**
 * Tells whether the numbers of Text, with spaces between, are whole and not negative; `number`
 * passes. Of several texts each answers.
 */
export type NotNegative<Text extends string> = Text extends `${string}-${string}` | `${string}.${string}` ? false : true
/** Tells whether all are whole numbers above 0. */
export type AreWholePositive<Text extends string> = Text extends '0' | `0 ${string}` | `${string} 0` | `${string} 0 ${string}`
  ? false
  : NotNegative<Text>

/** The digits of a number that is known, for sums of many. */
export type DigitsOf<N extends number> = number extends N ? undefined : Digits<N>
export type { NumberOf, Sum }

/** A + B. */
export type Add<A extends number, B extends number> = number extends A | B
  ? number
  : A extends 0
    ? B
    : B extends 0
      ? A
      : NumberOf<Sum<Digits<A>, Digits<B>>>

/** A - B, or never where that is negative. */
export type Sub<A extends number, B extends number> = number extends A | B
  ? number
  : B extends 0
    ? A
    : Difference<Digits<A>, Digits<B>> extends infer Digits
      ? [Digits] extends [never]
        ? never
        : NumberOf<Digits>
      : never

/** A · B. */
export type Mul<A extends number, B extends number> = number extends A | B
  ? number
  : A extends 1
    ? B
    : B extends 1
      ? A
      : NumberOf<Product<Digits<A>, `${B}`>>

/** A <= B. */
export type Lte<A extends number, B extends number> = number extends A | B
  ? true
  : [Difference<Digits<B>, Digits<A>>] extends [never]
    ? false
    : true

/** Tells whether A divides B. */
export type Divides<A extends number, B extends number> = number extends A | B
  ? true
  : A extends 1
    ? true
    : Quotient<`${B}`, Digits<A>> extends [string, '0']
      ? true
      : false

/** Elements from the first to the last that one window touches: dilation · (kernel - 1) + 1. */
export type WindowExtent<Kernel extends number, Dilation extends number> = number extends Kernel | Dilation
  ? number
  : Dilation extends 1
    ? Kernel
    : NumberOf<Sum<Difference<Product<Digits<Kernel>, `${Dilation}`>, Digits<Dilation>>, '1'>>

/**
 * Windows along one direction, as PyTorch counts them; 0 where not one fits. With Ceil a last,
 * partial window is added if it starts inside the input or the padding before it.
 */
export type ConvDim<
  In extends number,
  Before extends number,
  After extends number,
  Kernel extends number,
  Dilation extends number,
  Stride extends number,
  Ceil extends boolean
> = number extends In | Before | After | Kernel | Dilation | Stride
  ? number
  : boolean extends Ceil
    ? number
    : Windows<Digits<Add<In, Before>>, After, WindowExtent<Kernel, Dilation>, Stride, Ceil>

/** Start: where the padding after the input begins, counted from the padding before it. */
type Windows<Start, After extends number, Extent extends number, Stride extends number, Ceil> =
  LastWindow<Difference<Sum<Start, Digits<Add<After, Ceil extends true ? Sub<Stride, 1> : 0>>>, Digits<Extent>>, Stride> extends infer Last
    ? [Last] extends [never]
      ? 0
      : NumberOf<
          Ceil extends true ? ([Difference<Product<Last, `${Stride}`>, Start>] extends [never] ? Sum<Last, '1'> : Last) : Sum<Last, '1'>
        >
    : never

/** How many strides fit into the room that one window leaves; never where there is none. */
type LastWindow<Room, Stride extends number> = [Room] extends [never]
  ? never
  : Stride extends 1
    ? Room
    : Quotient<Reverse<Room>, Digits<Stride>> extends [infer Count, string]
      ? Count
      : never
