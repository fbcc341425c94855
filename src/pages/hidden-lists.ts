// Lists from which hidden projects are left out, and which have as many entries as were asked for all the same.

/** Looked at to find as many as were asked for, where many belong to hidden projects. */
const mostLookedAt = 2_000

/** Asks for more, and still more, until as many are shown as were asked for, or there are no more. */
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
