// Pages of a list, followed by the `Link` header (RFC 8288), for offset and keyset pagination. Without that header, see `read.ts`.
import type { Page } from '../port.ts'

/** The target of `rel="next"`, as the platform gave it. */
export function nextLink(header: string | undefined): string | undefined {
  for (const [, target, parameters = ''] of (header ?? '').matchAll(/<([^<>]*)>([^<>]*)/g)) {
    const relations = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters)
    const names = (relations?.[1] ?? relations?.[2] ?? '').toLowerCase().split(/\s+/)
    if (names.includes('next')) return target
  }
  return undefined
}

/** All items of a list; for lists that are known to be short. */
export async function allOf<T>(pages: AsyncIterable<Page<T>>): Promise<T[]> {
  const items: T[] = []
  for await (const page of pages) items.push(...page.items)
  return items
}
