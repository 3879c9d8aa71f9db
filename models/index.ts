import type { Model } from '../dsl'
import { darknet19 } from './darknet'
import type { HeadOptions } from './heads'
import { vgg11, vgg13, vgg16, vgg19 } from './vgg'

export { darknet19, vgg11, vgg13, vgg16, vgg19 }
export type { Head, HeadOptions } from './heads'

/** The models that the command line knows by name. */
export const builtIn: Readonly<Record<string, (options: HeadOptions) => Model>> = { darknet19, vgg11, vgg13, vgg16, vgg19 }
