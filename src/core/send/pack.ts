// Packs the messages of a batch into requests.
import type { HeaderValues } from './destination.ts'

/** An item with the bytes and the header values that determine its request. */
export interface Packable {
  readonly bytes: Uint8Array
  /** The values for the templates in the request headers. */
  readonly values?: HeaderValues | undefined
}

/**
 * Packs items into requests of at most `limit` bytes with the same headers, in their order. A larger item gets its own request. `maxItems` returns
 * the maximum number of items for a request with this item.
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
