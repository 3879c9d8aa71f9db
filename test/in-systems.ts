/**
 * Whether this is `npm run test:systems`, which draws and compares more than `npm test` has time
 * for (docs/systems.md).
 */
export const inSystems = process.env.TILEFOLD_SYSTEMS === '1'
