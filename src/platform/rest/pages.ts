// Finds the next page of a list in the `Link` header (RFC 8288), for offset and keyset pagination. `read.ts` handles lists without that header.
import type { Listed, Page } from '../port.ts'

/** The unchanged target of `rel="next"`. */
export function nextLink(header: string | undefined): string | undefined {
  for (const [, target, parameters = ''] of (header ?? '').matchAll(/<([^<>]*)>([^<>]*)/g)) {
    const relations = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters)
    const names = (relations?.[1] ?? relations?.[2] ?? '').toLowerCase().split(/\s+/)
    if (names.includes('next')) return target
  }
  return undefined
}

/** Reads all pages and answers their items. */
export async function allOf<T>(pages: AsyncIterable<Page<T>>): Promise<Listed<T>> {
  const items: T[] = []
  let left = 0
  for await (const page of pages) {
    items.push(...page.items)
    left = page.left ?? 0
  }
  return { items, left }
}
