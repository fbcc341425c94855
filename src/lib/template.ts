// Templates: strings with names in braces, such as `tenant-{group}`. Other braces, as in JSON, stay unchanged.

const name = /\{([a-z][\w.-]*)\}/gi

/** Returns the names in a template, without repetitions. */
export function namesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(name)].map(([, found]) => found ?? ''))]
}

/** Replaces the names in a template with values. Names without a value stay unchanged. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(name, (whole, found: string) => (Object.hasOwn(values, found) ? (values[found] ?? '') : whole))
}
