// The quarantine for deliveries that could not be decoded. They were acknowledged and counted, and are stored, redacted, until an operator has
// checked them. The code works with both databases.
import { bytes, number, optional, record, text, oneOf, type Row } from '../sql/columns.ts'
import { forRows, each, type Step } from '../sql/steps.ts'
import { placeholders, type Statements } from '../sql/statements.ts'

/** A delivery to be quarantined. `body` is the part of it that may be stored. */
export interface Undecodable {
  /** The value of the event header; empty if there was none. */
  readonly event: string
  /** The value of the instance header. */
  readonly instance?: string | undefined
  readonly source: 'webhook' | 'redelivery'
  /** The Unix time at which the delivery was received, ms. */
  readonly receivedAt: number
  readonly body: Uint8Array
  /** Why the delivery could not be decoded, and how to fix the problem. */
  readonly reason: string
  /** The version of the daemon that could not decode the delivery. */
  readonly version: string
}

export interface QuarantinedDelivery extends Omit<Undecodable, 'body'> {
  readonly id: number
  /** The size of the body in bytes. */
  readonly size: number
}

export type Quarantine = ReturnType<typeof quarantine>

const facts = {
  id: number('id'),
  event: text('event'),
  instance: optional(text, 'instance'),
  source: oneOf('source', ['webhook', 'redelivery']),
  receivedAt: number('received_at'),
  reason: text('reason'),
  version: text('version'),
}
const quarantinedOf: (row: Row) => QuarantinedDelivery = record({ ...facts, size: number('size') })
const undecodableOf: (row: Row) => Undecodable & { readonly id: number } = record({ ...facts, body: bytes('body') })

const select = 'SELECT *, octet_length(body) AS size FROM quarantined_deliveries'
const mark = 'UPDATE quarantined_deliveries SET retry = 1'

export function quarantine(sql: Statements) {
  return {
    /** Returns the quarantined deliveries, newest first. */
    list: async (limit: number): Promise<readonly QuarantinedDelivery[]> => {
      const rows = await sql.all(
        `SELECT id, event, instance, source, received_at, reason, version, octet_length(body) AS size
         FROM quarantined_deliveries ORDER BY id DESC LIMIT ?1`,
        [limit],
      )
      return rows.map(quarantinedOf)
    },
    show: async (id: number): Promise<{ delivery: QuarantinedDelivery; body: Uint8Array } | undefined> => {
      const [row] = await sql.all(`${select} WHERE id = ?1`, [id])
      return row && { delivery: quarantinedOf(row), body: bytes('body')(row) }
    },
    count: async (): Promise<number> =>
      number('count')((await sql.all('SELECT count(*) AS count FROM quarantined_deliveries'))[0] ?? {}),
    /**
     * Marks the quarantined deliveries with these ids, or all quarantined deliveries, so that the daemon decodes them again. Returns the number of
     * deliveries.
     */
    retry: async (ids: readonly number[] | 'all'): Promise<number> => {
      if (ids === 'all') return sql.change(mark)
      return ids.length === 0 ? 0 : sql.change(`${mark} WHERE id IN (${placeholders(ids)})`, ids)
    },
    /** Marks the deliveries that another version of the daemon could not decode, so that they are decoded again. Returns the number of deliveries. */
    retryOfOtherVersions: async (version: string): Promise<number> =>
      sql.change(`${mark} WHERE version <> ?1`, [version]),
    /** Returns the deliveries that are to be decoded again, oldest first. */
    toRetry: async (limit: number): Promise<readonly (Undecodable & { readonly id: number })[]> =>
      (await sql.all(`${select} WHERE retry = 1 ORDER BY id LIMIT ?1`, [limit])).map(undecodableOf),
  }
}

/** Returns the steps that store undecodable deliveries. They run in the transaction in which the deliveries are taken in. */
export function insertUndecodable(all: readonly Undecodable[]): Step[] {
  return all.map(({ event, instance, source, receivedAt, body, reason, version }) => [
    `INSERT INTO quarantined_deliveries (event, instance, source, received_at, body, reason, version, retry)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)`,
    [event, instance ?? null, source, receivedAt, body, reason, version],
  ])
}

export function deleteQuarantined(ids: readonly number[]): Step {
  return each(
    deleteOne,
    ids.map(id => [id]),
  )
}

const deleteOne = forRows(['bigint'], ({ among }) => `DELETE FROM quarantined_deliveries WHERE ${among('id')}`)
