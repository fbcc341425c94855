// Rows of deliveries, and the reads of the inbox that both databases share.
import { bytes, number, optional, record, text, word, type Row } from './columns.ts'
import { type Inbox, type InboxItem, type InboxState, type QuarantinedDelivery } from '../ports/inbox.ts'
import type { Statements, Value } from './statements.ts'

const sources = ['webhook', 'redelivery'] as const

export const itemOf: (row: Row) => InboxItem = record({
  id: number('id'),
  key: optional(text, 'key'),
  event: text('event'),
  instance: optional(text, 'instance'),
  source: word('source', sources),
  receivedAt: number('received_at'),
  body: bytes('body'),
})

const quarantinedOf: (row: Row) => QuarantinedDelivery = record({
  id: number('id'),
  event: text('event'),
  instance: optional(text, 'instance'),
  source: word('source', sources),
  receivedAt: number('received_at'),
  reason: text('reason'),
  version: text('version'),
  size: number('size'),
})

const stateOf: (row: Row) => InboxState = record({
  waiting: number('waiting'),
  waitingBytes: number('bytes'),
  oldest: optional(number, 'oldest'),
  quarantined: number('quarantined'),
})

const body = bytes('body')

/** `state` is that of the tables, without deliveries in a file beside it. */
export function inboxReads(sql: Statements): Pick<Inbox, 'listQuarantined' | 'showQuarantined' | 'state'> {
  return {
    listQuarantined: async limit => {
      const rows = await sql.all(
        `SELECT id, event, instance, source, received_at, reason, version, octet_length(body) AS size
         FROM quarantined_deliveries ORDER BY id DESC LIMIT ?1`,
        [limit],
      )
      return rows.map(quarantinedOf)
    },
    showQuarantined: async id => {
      const [row] = await sql.all('SELECT *, octet_length(body) AS size FROM quarantined_deliveries WHERE id = ?1', [
        id,
      ])
      return row && { delivery: quarantinedOf(row), body: body(row) }
    },
    state: async () => {
      const [row = {}] = await sql.all(
        `SELECT count(*) AS waiting, coalesce(sum(octet_length(body)), 0) AS bytes, min(received_at) AS oldest,
                (SELECT count(*) FROM quarantined_deliveries) AS quarantined FROM inbox`,
      )
      return stateOf(row)
    },
  }
}

/** A delivery's columns in both tables: `deliveryValues`, then its body. */
export const deliveryColumns = 'key, event, instance, source, received_at, body'

export function deliveryValues({ key, event, instance, source, receivedAt }: Omit<InboxItem, 'id' | 'body'>): Value[] {
  return [key ?? null, event, instance ?? null, source, receivedAt]
}
