// Texts with names in braces, such as `tenant-{group}`. Other braces, as in JSON, stay as they are.

const name = /\{([a-z][\w.-]*)\}/gi

/** The names in the text, each once. */
export function namesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(name)].map(([, found]) => found ?? ''))]
}

/** Replaces the names by their values. Names without a value stay. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(name, (whole, found: string) => (Object.hasOwn(values, found) ? (values[found] ?? '') : whole))
}
