/** Networks whose linear layer `fc` was called `classifier` after global average pooling. */
const renamed: ReadonlySet<string> = new Set(['resnet18', 'resnet34', 'resnet50', 'resnet101', 'resnet152', 'inception_v3'])

/**
 * The name that a layer, a parameter or its optimizer state had in earlier versions of a built-in
 * model; the same name where it has not changed.
 */
export const earlierName = (model: string, name: string): string =>
  renamed.has(model) ? name.replace(/(?<=^|\.)fc(?=\.|$)/, 'classifier') : name
