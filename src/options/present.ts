/** The fields that are there, without those that are undefined. */
export const present = <O extends object>(fields: O): { [K in keyof O]?: Exclude<O[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof O]?: Exclude<O[K], undefined> }
