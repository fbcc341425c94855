// Messages about one thing are sent in order: of those that are pending for a destination, only the first about each thing may be leased.
import { keyPrefix } from '../../../model/condition.ts'
import { number, record, text, type Row } from './columns.ts'
import type { ExportQueue } from '../ports/outbox.ts'

/** The oldest pending messages that are checked. If none of them can be sent, the destination is down, and the others wait as well. */
const maxHeads = 500

/** Values: the destination and the signal. Messages are small, so their sizes limit no lease. */
export const selectInOrder = `
  SELECT o.id, o.due_at, m.event_key AS key, o.lease IS NOT NULL AS is_again, 0 AS size
  FROM outbox o JOIN messages m ON m.id = o.message_id
  WHERE o.state = 'pending' AND o.destination = ?1 AND o.signal = ?2 ORDER BY o.id LIMIT ${maxHeads}`

export interface Head {
  readonly id: number
  readonly dueAt: number
}

/** The first row about each thing, from rows of `selectInOrder`. */
export function headsOf<R extends Row>(rows: readonly R[]): (Head & { readonly row: R })[] {
  const seen = new Set<string>()
  return rows.flatMap(row => {
    const { id, dueAt, key } = entry(row)
    const about = key.slice(0, keyPrefix)
    if (seen.has(about)) return []
    seen.add(about)
    return [{ id, dueAt, row }]
  })
}

export function isInOrder({ signal }: ExportQueue): boolean {
  return signal === 'notifications'
}

const entry = record({ id: number('id'), dueAt: number('due_at'), key: text('key') })

// Which due exports a lease takes. If it took only the oldest, new pipelines would wait for a long backlog; if it took only the newest,
// the backlog would never be sent.

/** Takes from both in turn, each item once, up to `limit`. `newest` begins with the newest. */
export function* bothEnds<T>(oldest: readonly T[], newest: readonly T[], limit: number): Generator<T> {
  const taken = new Set<T>()
  for (let at = 0; at < Math.max(oldest.length, newest.length); at += 1) {
    for (const one of [oldest[at], newest[at]]) {
      if (taken.size >= limit) return
      if (one === undefined || taken.has(one)) continue
      taken.add(one)
      yield one
    }
  }
}
