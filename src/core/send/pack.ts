// Packs the messages of a batch into requests.
import type { HeaderValues } from './destination.ts'

/** An item to be packed: its bytes, and the header values that its request needs. */
export interface Packable {
  readonly bytes: Uint8Array
  /** The values for the templates in the request headers. */
  readonly values?: HeaderValues | undefined
}

/**
 * Packs items, in order, into requests of at most `limit` bytes. All items of a request have the same header values. An item larger than `limit` gets
 * a request of its own. `maxItems` returns the maximum number of items in a request that contains the given item.
 */
export function packed<Item extends Packable>(
  items: readonly Item[],
  limit: number,
  maxItems: (item: Item) => number = () => Infinity,
): Item[][] {
  const groups = Map.groupBy(items, ({ values }) => (values === undefined ? '' : JSON.stringify(values)))
  return [...groups.values()].flatMap(group => packedBySize(group, limit, maxItems))
}

function packedBySize<Item extends Packable>(
  items: readonly Item[],
  limit: number,
  maxItems: (item: Item) => number,
): Item[][] {
  const packs: Item[][] = []
  let size = Infinity
  let max = 0
  for (const item of items) {
    size += item.bytes.length
    max = Math.min(max, maxItems(item))
    if (size > limit || (packs.at(-1)?.length ?? 0) >= max) {
      packs.push([])
      size = item.bytes.length
      max = maxItems(item)
    }
    packs.at(-1)?.push(item)
  }
  return packs
}
