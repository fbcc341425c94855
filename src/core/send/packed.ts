// Divides what is to be sent into requests.
import type { HeaderValues } from './destination.ts'

export interface Packable {
  readonly bytes: Uint8Array
  /** For the templates of the headers. */
  readonly values?: HeaderValues | undefined
}

/** Requests of at most `limit` bytes and of the same headers, in their order; a larger item is alone. `maxItems`: of a request with this item. */
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
  let most = 0
  for (const item of items) {
    size += item.bytes.length
    most = Math.min(most, maxItems(item))
    if (size > limit || (packs.at(-1)?.length ?? 0) >= most) {
      packs.push([])
      size = item.bytes.length
      most = maxItems(item)
    }
    packs.at(-1)?.push(item)
  }
  return packs
}
