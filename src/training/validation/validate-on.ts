/** What is validated of an image with a mask: all of it, or the crop in its middle. */
export const validateOns = ['image', 'crop'] as const
/** Whether whole images are validated, or their middle crops. */
export type ValidateOn = (typeof validateOns)[number]
