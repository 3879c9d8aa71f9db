/** What is validated of an image with a mask: all of it, or the crop in its middle. */
export const validateOns = ['image', 'crop'] as const
export type ValidateOn = (typeof validateOns)[number]
