/**
 * Table 1 of Hayakawa 2020 (docs/papers.md): images a second of ResNet-50 at 224 x 224 in 16 GB, by
 * batch; null where it ran out of memory. The first two rows are Le et al.'s, on a P100, the others that paper's own, on a V100 with NVLink.
 */
export const windowPaper = {
  batches: [64, 128, 190, 256, 512, 928, 1120, 1248, 1440],
  rows: [
    { name: 'Hayakawa 2020: P100, baseline', by: 'P100', rates: [235, 255, 258, null, null, null, null, null, null] },
    { name: 'Hayakawa 2020: P100, Le et al.', by: 'P100', rates: [235, 255, 241, 236, 209, 137, null, null, null] },
    { name: 'Hayakawa 2020: V100, baseline', by: 'V100', rates: [336, 492, 581, null, null, null, null, null, null] },
    { name: 'Hayakawa 2020: V100, schedule', by: 'V100', rates: [320, 439, 533, 559, 457, 400, null, null, null] },
    { name: 'Hayakawa 2020: V100, schedule and virtual addresses', by: 'V100', rates: [304, 389, 415, 424, 446, 409, 398, 347, 321] }
  ]
} as const

/** What Xu 2022 (docs/papers.md) reports, as gpu-check prints it. */
export const tilingPaper =
  'Xu 2022 trains VGG-16 up to 20480x20480 in 11 GiB (RTX 2080 Ti) and 40 GiB (A100), in float32; its seconds stand in its Figure 8 alone, and its text has none to put beside these.'
