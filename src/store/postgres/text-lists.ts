// Many texts as one parameter, where they are JSON: a list in PostgreSQL's own spelling has every quote in them escaped, here and
// back again there.

/** U+001E, the record separator: JSON has it only escaped, so it is in none of the texts. */
const separator = '\u001e'

/** One parameter for `textsOf`. Each text is JSON, or null. */
export function textList(texts: readonly (string | null)[]): string {
  return texts.map(text => text ?? '').join(separator)
}

/** The texts of a parameter, as an array of SQL; null is an empty text there. */
export function textsOf(parameter: `$${number}`): string {
  return `string_to_array(${parameter}, U&'\\001e')`
}
