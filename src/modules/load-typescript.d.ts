/** A file's JavaScript, made once for its text and kept in the user's cache; it is not checked. */
export function compiled(file: string): { readonly outputText: string }
