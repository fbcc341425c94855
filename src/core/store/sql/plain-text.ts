// Text that a column of either database can store.

/** PostgreSQL refuses NUL, and half a surrogate pair cannot be encoded as UTF-8. */
export function plainText(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed()
}
