// Templates: texts with names in braces, such as `tenant-{group}`. Other braces, as in JSON, stay unchanged.

const name = /\{([a-z][\w.-]*)\}/gi

/** Returns the names in a template, each once. */
export function namesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(name)].map(([, found]) => found ?? ''))]
}

/** Replaces the names in a template with their values. Names without a value stay unchanged. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(name, (whole, found: string) => (Object.hasOwn(values, found) ? (values[found] ?? '') : whole))
}
