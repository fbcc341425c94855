// Text as every database's text column can hold it.

/** PostgreSQL's text holds no NUL, and half a surrogate pair is no text at all. */
export function plainText(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed()
}
