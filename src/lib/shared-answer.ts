// An answer that is kept for a while, so that questions at the same time, or soon after, share it.

/** Reads again when the last answer is older than `keptMs`, or failed. `now`: a clock that may be set back. */
export function sharedAnswer<T>(
  keptMs: number,
  now: () => number,
  read: (now: number) => Promise<T>,
): () => Promise<T> {
  let last: { readonly at: number; readonly answer: Promise<T> } | undefined
  return async () => {
    const at = now()
    if (last !== undefined && Math.abs(at - last.at) < keptMs) return last.answer
    const answer = read(at)
    last = { at, answer }
    answer.catch(() => (last = undefined))
    return answer
  }
}
