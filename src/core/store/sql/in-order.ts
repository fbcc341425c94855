// Keeps messages about the same subject in order: for each destination, only the oldest pending message about each subject may be leased.
import { keyPrefix } from '../../../model/condition.ts'
import { number, record, text, type Row } from './columns.ts'
import type { ExportQueue } from '../ports/outbox.ts'

/**
 * How many of the oldest pending messages are checked. If none of them can be sent, the destination is down, and the remaining messages wait as well.
 */
const maxHeads = 500

/**
 * Selects a queue's pending messages in order. The parameters are the destination and the signal. These messages are small, so a lease is not limited
 * by their sizes.
 */
export const selectInOrder = `
  SELECT o.id, o.due_at, m.event_key AS key, o.lease IS NOT NULL AS is_again, 0 AS size
  FROM outbox o JOIN messages m ON m.id = o.message_id
  WHERE o.state = 'pending' AND o.destination = ?1 AND o.signal = ?2 ORDER BY o.id LIMIT ${maxHeads}`

export interface Head {
  readonly id: number
  readonly dueAt: number
}

/** Returns the first row about each subject from the rows of `selectInOrder`. */
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

// Chooses which due exports to lease. If only the oldest were leased, new pipelines would wait behind a long backlog. If only the newest were leased,
// the backlog would never be sent.

/** Yields items from both lists alternately, each item once, up to `limit`. The list `newest` starts with the newest item. */
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
