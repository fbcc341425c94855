// Caches a result briefly, so that concurrent callers, and callers shortly afterwards, share it.
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Returns a function that caches one result. It reads a new result if the last one is older than `keptMs`, or if the last read failed. `now` may be a
 * clock that can be set back.
 */
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

/**
 * Caches results by key: while a result is being read, and until `keptMs` after the read began. At most `maxKept` results are cached. Beyond that
 * number, each caller reads its own result.
 */
export function sharedAnswers<T>(keptMs: number, maxKept: number): (key: string, read: () => Promise<T>) => Promise<T> {
  const kept = new Map<string, Promise<T>>()
  return async (key, read) => {
    const known = kept.get(key)
    if (known !== undefined || kept.size >= maxKept) return known ?? read()
    const answer = read()
    kept.set(key, answer)
    const age = pause(keptMs, undefined, { ref: false })
    const forget = () => kept.delete(key)
    answer.then(async () => age.then(forget), forget)
    return answer
  }
}
