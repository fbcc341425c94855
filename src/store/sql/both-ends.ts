// Which of the due exports a lease takes: the oldest alone would let a long backlog starve fresh pipelines; the newest alone
// would never finish it.

/** Takes from both in turn, each thing once, until `limit` of them are taken. `newest` begins with the very newest. */
export function* bothEnds<T>(oldest: readonly T[], newest: readonly T[], limit: number): Generator<T> {
  const taken = new Set<T>()
  for (let at = 0; at < Math.max(oldest.length, newest.length); at += 1) {
    for (const one of [oldest[at], newest[at]]) {
      if (taken.size >= limit) return
      if (one === undefined || taken.has(one)) continue
      taken.add(one)
      yield one
    }
  }
}
