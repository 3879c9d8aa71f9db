import { join } from 'node:path'

/** The module of the VGG-16 in tiles that images of size x size have rows enough for. */
export const tiledModule = (size: number): string => join(__dirname, size < 512 ? 'small-tiled-vgg16.js' : 'tiled-vgg16.js')
