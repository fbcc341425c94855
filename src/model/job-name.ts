// The common name of parallel jobs.

/** Longer names are cut before they are compared, UTF-16 units. */
const maxRead = 1_000

/** `rspec` for `rspec 2/5`, `deploy` for `deploy: [eu, blue]`, as the platform groups jobs. */
export function groupNameOf(name: string): string {
  return name.slice(0, maxRead).replace(/(?:[\s:]{1,9}(?:\[[^\][]*\]|\d{1,9}[\s:/\\]{1,9}\d{1,9})){1,3}\s{0,9}$/, '')
}
