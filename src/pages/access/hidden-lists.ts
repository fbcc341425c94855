// Fills a list to its limit although entries of hidden projects are left out.

/** How many entries are read at most to find enough that may be shown. */
const mostLookedAt = 2_000

/** Asks for four times as many again and again, until `limit` of them may be shown or there are no more. */
export async function enough<T>(
  ask: (limit: number) => Promise<readonly T[]>,
  limit: number,
  shown: (some: readonly T[]) => readonly T[] | Promise<readonly T[]>,
): Promise<readonly T[]> {
  for (let asked = limit; ; asked *= 4) {
    const found = await ask(asked)
    const left = await shown(found)
    if (left.length >= limit || found.length < asked || asked >= mostLookedAt) return left.slice(0, limit)
  }
}
