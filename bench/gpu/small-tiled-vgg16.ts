import { tiledVgg16 } from './tiled-vgg16'

/** In as many tiles as images of 32 x 32 have rows. */
export default tiledVgg16([8, 4, 2, 1])
