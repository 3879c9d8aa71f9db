/** Shows a report the rows that a part has so far. */
export type Keep<A> = (rows: readonly A[]) => void
