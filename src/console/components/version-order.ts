// The order of versions of CI components: semantic versions, also shortened (`2`, `v2.1`). Branches, revisions and `~latest` have no order. Pure.

/** `newest`: undefined if no version is one. `isLower`: whether a version is certainly below the newest. */
export function newestOf(versions: readonly string[]): {
  readonly newest: string | undefined
  readonly isLower: (version: string) => boolean
} {
  const known = versions.flatMap(version => {
    const parts = partsOf(version)
    return parts === undefined ? [] : [{ version, parts }]
  })
  const [newest] = known.toSorted((a, b) => compare(b.parts, a.parts))
  return {
    newest: newest?.version,
    isLower: version => {
      const parts = partsOf(version)
      return (
        newest !== undefined && parts !== undefined && compare(parts, newest.parts) < 0 && !covers(parts, newest.parts)
      )
    },
  }
}

interface Parts {
  readonly numbers: readonly number[]
  /** Of a release candidate and the like, which is below its release. */
  readonly before: string
}

/** A revision of digits only is longer than any number of a version. */
function partsOf(version: string): Parts | undefined {
  const pattern = /^v?(\d{1,9}(?:\.\d{1,9}){0,2})(?:-([\da-z.-]+))?(?:\+[\da-z.-]+)?$/i
  const [, numbers, before = ''] = pattern.exec(version) ?? []
  return numbers === undefined ? undefined : { numbers: numbers.split('.').map(Number), before }
}

function compare(a: Parts, b: Parts): number {
  for (let at = 0; at < 3; at += 1) {
    const difference = (a.numbers[at] ?? 0) - (b.numbers[at] ?? 0)
    if (difference !== 0) return difference
  }
  if (a.before === b.before) return 0
  if (a.before === '' || b.before === '') return a.before === '' ? 1 : -1
  return a.before < b.before ? -1 : 1
}

/** `2` stands for the newest 2, so it is not below `2.3.1`. */
function covers(short: Parts, newest: Parts): boolean {
  return short.before === '' && short.numbers.every((number, at) => number === newest.numbers[at])
}
