// Sums the counters of parts that exist once per platform token.

interface Counting<Counters> {
  readonly counters: Counters
}

type Count = number | ReadonlyMap<string, Count>

/** Returns the sums of all counters. Counters with reasons are summed for each reason. */
function summed<Counters extends object>(parts: readonly Counting<Counters>[]): Counting<Counters> {
  return {
    get counters() {
      const all = parts.map(({ counters }) => Object.entries(counters) as [string, Count][])
      const names = Map.groupBy(all.flat(), ([name]) => name)
      return Object.fromEntries(
        [...names].map(([name, of]) => [name, of.map(([, count]) => count).reduce(sum)]),
      ) as Counters
    },
  }
}

/** Like `summed`, but undefined if there are no parts. */
export function summedIfAny<Counters extends object>(
  parts: readonly Counting<Counters>[],
): Counting<Counters> | undefined {
  return parts.length === 0 ? undefined : summed(parts)
}

function sum(a: Count, b: Count): Count {
  if (typeof a === 'number') return typeof b === 'number' ? a + b : b
  if (typeof b === 'number') return a
  const keys = new Set([...a.keys(), ...b.keys()])
  return new Map([...keys].map(key => [key, sum(a.get(key) ?? 0, b.get(key) ?? 0)]))
}
