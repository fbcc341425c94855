// Which due exports a lease takes. If it took only the oldest, new pipelines would wait for a long backlog; if it took only the newest,
// the backlog would never be sent.

/** Takes from both in turn, each item once, up to `limit`. `newest` begins with the newest. */
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
