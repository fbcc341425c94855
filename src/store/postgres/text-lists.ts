// Many JSON texts in one parameter. As an array literal each quote in them would be escaped here and unescaped by the server, which is slow.

/** U+001E, the record separator, occurs in no JSON text unescaped. */
const separator = '\u001e'

/** The parameter for `textsOf`. Each text is JSON or null. */
export function textList(texts: readonly (string | null)[]): string {
  return texts.map(text => text ?? '').join(separator)
}

/** The SQL array of the texts; null is an empty text in it. */
export function textsOf(parameter: `$${number}`): string {
  return `string_to_array(${parameter}, U&'\\001e')`
}
