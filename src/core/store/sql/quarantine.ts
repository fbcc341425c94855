// Deliveries that could not be decoded, for both databases.
import { bytes, number, optional, record, text, word, type Row } from './columns.ts'
import { forRows, each, type Step } from './steps.ts'
import { places, type Statements } from './statements.ts'
import type { Quarantine, QuarantinedDelivery, Undecodable } from '../ports/quarantine.ts'

const facts = {
  id: number('id'),
  event: text('event'),
  instance: optional(text, 'instance'),
  source: word('source', ['webhook', 'redelivery']),
  receivedAt: number('received_at'),
  reason: text('reason'),
  version: text('version'),
}
const quarantinedOf: (row: Row) => QuarantinedDelivery = record({ ...facts, size: number('size') })
const undecodableOf: (row: Row) => Undecodable & { readonly id: number } = record({ ...facts, body: bytes('body') })
const body = bytes('body')

const select = 'SELECT *, octet_length(body) AS size FROM quarantined_deliveries'

export function quarantine(sql: Statements): Quarantine {
  const mark = 'UPDATE quarantined_deliveries SET retry = 1'
  return {
    list: async limit =>
      (
        await sql.all(
          `SELECT id, event, instance, source, received_at, reason, version, octet_length(body) AS size
           FROM quarantined_deliveries ORDER BY id DESC LIMIT ?1`,
          [limit],
        )
      ).map(quarantinedOf),
    show: async id => {
      const [row] = await sql.all(`${select} WHERE id = ?1`, [id])
      return row && { delivery: quarantinedOf(row), body: body(row) }
    },
    count: async () =>
      number('count')((await sql.all('SELECT count(*) AS count FROM quarantined_deliveries'))[0] ?? {}),
    retry: async ids => {
      if (ids === 'all') return sql.change(mark)
      return ids.length === 0 ? 0 : sql.change(`${mark} WHERE id IN (${places(ids)})`, ids)
    },
    retryOfOtherVersions: async version => sql.change(`${mark} WHERE version <> ?1`, [version]),
    toRetry: async limit =>
      (await sql.all(`${select} WHERE retry = 1 ORDER BY id LIMIT ?1`, [limit])).map(undecodableOf),
  }
}

/** Steps of the transaction in which the deliveries are taken in. */
export function insertUndecodable(all: readonly Undecodable[]): Step[] {
  return all.map(({ event, instance, source, receivedAt, body: kept, reason, version }) => [
    `INSERT INTO quarantined_deliveries (event, instance, source, received_at, body, reason, version, retry)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)`,
    [event, instance ?? null, source, receivedAt, kept, reason, version],
  ])
}

export function deleteQuarantined(ids: readonly number[]): Step {
  return each(
    deleteOne,
    ids.map(id => [id]),
  )
}

const deleteOne = forRows(['bigint'], ({ among }) => `DELETE FROM quarantined_deliveries WHERE ${among('id')}`)
