/**
 * Arithmetic on number literals in types: Add, Mul, Lte, Divides and ConvDim. Any operand that is only `number` makes the
 * result `number` (or true). Exact for whole numbers up to 10^20. Schoolbook algorithms on strings of decimal digits, lowest first;
 * most parameters are unconstrained, because the compiler would expand every combination of digits to check a constraint.
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

type Reverse<A, Out extends string = ''> = A extends `${infer D}${infer E}${infer F}${infer G}${infer Rest}`
  ? Reverse<Rest, `${G}${F}${E}${D}${Out}`>
  : A extends `${infer D}${infer Rest}`
    ? Reverse<Rest, `${D}${Out}`>
    : Out
type Digits<N extends number> = Reverse<`${N}`>
type NumberOf<A> = Reverse<A> extends `${infer N extends number}` ? N : never

/** Drops zeros above the highest digit. */
type Trim<A> = A extends '0' ? A : A extends `${infer Rest}0` ? Trim<Rest> : A

/** Digit and carry of the row's number plus 0 to 9. */
type Plus0 = ['00', '10', '20', '30', '40', '50', '60', '70', '80', '90']
type Plus1 = ['10', '20', '30', '40', '50', '60', '70', '80', '90', '01']
type Plus2 = ['20', '30', '40', '50', '60', '70', '80', '90', '01', '11']
type Plus3 = ['30', '40', '50', '60', '70', '80', '90', '01', '11', '21']
type Plus4 = ['40', '50', '60', '70', '80', '90', '01', '11', '21', '31']
type Plus5 = ['50', '60', '70', '80', '90', '01', '11', '21', '31', '41']
type Plus6 = ['60', '70', '80', '90', '01', '11', '21', '31', '41', '51']
type Plus7 = ['70', '80', '90', '01', '11', '21', '31', '41', '51', '61']
type Plus8 = ['80', '90', '01', '11', '21', '31', '41', '51', '61', '71']
type Plus9 = ['90', '01', '11', '21', '31', '41', '51', '61', '71', '81']
type Plus10 = ['01', '11', '21', '31', '41', '51', '61', '71', '81', '91']
/** Sums[carry][a][b] is digit and carry of a + b + carry. */
interface Sums {
  '0': [Plus0, Plus1, Plus2, Plus3, Plus4, Plus5, Plus6, Plus7, Plus8, Plus9]
  '1': [Plus1, Plus2, Plus3, Plus4, Plus5, Plus6, Plus7, Plus8, Plus9, Plus10]
}

type Sum<A, B, Carry extends '0' | '1' = '0', Out extends string = ''> = A extends `${infer X extends Digit}${infer RestA}`
  ? B extends `${infer Y extends Digit}${infer RestB}`
    ? Sums[Carry][X][Y] extends `${infer D}${infer C extends '0' | '1'}`
      ? Sum<RestA, RestB, C, `${Out}${D}`>
      : never
    : Carry extends '0'
      ? `${Out}${A & string}`
      : Sum<A, '1', '0', Out>
  : Carry extends '0'
    ? `${Out}${B & string}`
    : B extends ''
      ? `${Out}1`
      : Sum<B, '1', '0', Out>

/** [digit, borrow] of A - B - Borrow. */
type DigitDifference<A extends Digit, B extends Digit, Borrow extends Digit> = Units[A] extends [...Units[B], ...Units[Borrow], ...infer Rest]
  ? [`${Rest['length']}`, '0']
  : [1, ...Units['9'], ...Units[A]] extends [...Units[B], ...Units[Borrow], ...infer Rest]
    ? [`${Rest['length']}`, '1']
    : never

/** A - B, or never where that is negative. */
type Difference<A, B, Borrow extends Digit = '0', Out extends string = ''> =
  A extends `${infer X extends Digit}${infer RestA}`
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

/** Ones and tens of a times b. */
interface Products {
  '0': ['00', '00', '00', '00', '00', '00', '00', '00', '00', '00']
  '1': ['00', '10', '20', '30', '40', '50', '60', '70', '80', '90']
  '2': ['00', '20', '40', '60', '80', '01', '21', '41', '61', '81']
  '3': ['00', '30', '60', '90', '21', '51', '81', '12', '42', '72']
  '4': ['00', '40', '80', '21', '61', '02', '42', '82', '23', '63']
  '5': ['00', '50', '01', '51', '02', '52', '03', '53', '04', '54']
  '6': ['00', '60', '21', '81', '42', '03', '63', '24', '84', '45']
  '7': ['00', '70', '41', '12', '82', '53', '24', '94', '65', '36']
  '8': ['00', '80', '61', '42', '23', '04', '84', '65', '46', '27']
  '9': ['00', '90', '81', '72', '63', '54', '45', '36', '27', '18']
}

/** A times one digit: the ones of all products, and their tens one place higher. */
type Scaled<A, B extends Digit, Ones extends string = '', Tens extends string = '0'> = B extends '1'
  ? A
  : A extends `${infer X extends Digit}${infer Rest}`
    ? Products[B][X] extends `${infer One}${infer Ten}`
      ? Scaled<Rest, B, `${Ones}${One}`, `${Tens}${Ten}`>
      : never
    : Sum<Ones, Tens>

/** A times B by Horner's rule; the digits of B come highest first. */
type Product<A, B, Out = ''> = B extends `${infer D extends Digit}${infer Rest}`
  ? Product<A, Rest, D extends '0' ? `0${Out & string}` : Sum<`0${Out & string}`, Scaled<A, D>>>
  : Trim<Out>

/** [how often B fits into A, what is left], for quotients below 10. */
type DigitQuotient<A, B, Count extends 1[] = []> = [Difference<A, B>] extends [never]
  ? [`${Count['length']}`, A]
  : DigitQuotient<Difference<A, B>, B, [...Count, 1]>

/** [quotient, remainder] by long division; the digits of A and of the quotient come highest first. */
type Quotient<A, B, Rest = '0', Out extends string = ''> = A extends `${infer D}${infer Lower}`
  ? DigitQuotient<Trim<`${D}${Rest & string}`>, B> extends [infer Q extends string, infer R extends string]
    ? Quotient<Lower, B, R, `${Out}${Q}`>
    : never
  : [Trim<Reverse<Out>>, Rest]

/** A + B. */
export type Add<A extends number, B extends number> = number extends A | B ? number : A extends 0 ? B : B extends 0 ? A : NumberOf<Sum<Digits<A>, Digits<B>>>

/** A · B. */
export type Mul<A extends number, B extends number> = number extends A | B
  ? number
  : A extends 1
    ? B
    : B extends 1
      ? A
      : NumberOf<Product<Digits<A>, `${B}`>>

/** A <= B. */
export type Lte<A extends number, B extends number> = number extends A | B ? true : [Difference<Digits<B>, Digits<A>>] extends [never] ? false : true

/** Whether A divides B. */
export type Divides<A extends number, B extends number> = number extends A | B ? true : A extends 1 ? true : Quotient<`${B}`, Digits<A>> extends [string, '0'] ? true : false

/** Elements from the first to the last that one window touches: dilation · (kernel - 1) + 1. */
export type WindowExtent<Kernel extends number, Dilation extends number> = number extends Kernel | Dilation
  ? number
  : Dilation extends 1
    ? Kernel
    : NumberOf<Sum<Difference<Product<Digits<Kernel>, `${Dilation}`>, Digits<Dilation>>, '1'>>

/**
 * Windows along one direction, as PyTorch counts them; 0 where not one fits. With Ceil a last, partial window is added
 * if it starts inside the input or the padding before it.
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

type Windows<Start, After extends number, Extent extends number, Stride extends number, Ceil extends boolean> = Room<
  Sum<Start, Digits<After>>,
  Digits<Extent>,
  Stride
> extends [infer Count extends string, infer Rest extends string]
  ? NumberOf<Ceil extends true ? (Rest extends '0' ? Sum<Count, '1'> : LastWindow<Start, Sum<Count, '1'>, Stride>) : Sum<Count, '1'>>
  : 0

/** [whole strides, what is left] between the first window and the end of the padded input; 'none' where the window does not fit. */
type Room<Padded, Extent, Stride extends number> = [Difference<Padded, Extent>] extends [never]
  ? 'none'
  : Stride extends 1
    ? [Difference<Padded, Extent>, '0']
    : Quotient<Reverse<Difference<Padded, Extent>>, Digits<Stride>>

/** Counts the partial window at Count · Stride if that lies before the padding at the end. */
type LastWindow<Start, Count, Stride extends number> = [
  Difference<Start, Sum<Product<Count, `${Stride}`>, '1'>>
] extends [never]
  ? Count
  : Sum<Count, '1'>
