// A delivery as a row of the file that the ingress writes. A checksum over the whole row detects changes. Its salt is secret, so that
// no sender can forge a row within the body of a delivery.
import { crc32 } from 'node:zlib'
import { bytes, number, optional, record, text, word, type Row } from '../../sql/columns.ts'
import type { Delivery } from '../../ports/inbox.ts'
import type { Position } from './positions.ts'
import type { Cell } from '../../ports/tables.ts'

export interface StoredDelivery {
  /** 1, 2, 3, … over all files; never reused. */
  readonly seq: number
  /** Sum of all bodies before this one. */
  readonly bytesBefore: number
  /** Unix time in milliseconds. */
  readonly receivedAt: number
  readonly delivery: Delivery
}

export const pageBytes = 16_384

export const schema = `
  CREATE TABLE deliveries (
    seq          INTEGER PRIMARY KEY,
    key          TEXT,
    event        TEXT    NOT NULL,
    instance     TEXT,
    source       TEXT    NOT NULL,
    received_at  INTEGER NOT NULL,
    bytes_before INTEGER NOT NULL,
    crc          INTEGER NOT NULL,
    body         BLOB    NOT NULL
  )`

/** In the order of the table. */
export const columns = ['seq', 'key', 'event', 'instance', 'source', 'received_at', 'bytes_before', 'crc', 'body']
export const insertDelivery = `INSERT INTO deliveries VALUES (${columns.map(() => '?').join(', ')})`

export function valuesOf({ seq, bytesBefore, receivedAt, delivery }: StoredDelivery, salt: number): Cell[] {
  const { key = null, event, instance = null, source, body } = delivery
  const facts = [seq, key, event, instance, source, receivedAt, bytesBefore]
  return [...facts, crcOf(facts, body, salt), body]
}

const storedOf = record({ seq: number('seq'), bytesBefore: number('bytes_before'), receivedAt: number('received_at') })
const deliveryOf = record({
  key: optional(text, 'key'),
  event: text('event'),
  instance: optional(text, 'instance'),
  source: word('source', ['webhook', 'redelivery']),
  body: bytes('body'),
})

/** Undefined if the row is damaged. */
export function storedDelivery(row: Row, salt: number): StoredDelivery | undefined {
  const { crc, body, ...facts } = row
  if (!(body instanceof Uint8Array) || crc !== crcOf(Object.values(facts), body, salt)) return undefined
  return { ...storedOf(row), delivery: deliveryOf(row) }
}

function crcOf(facts: readonly unknown[], body: Uint8Array, salt: number): number {
  return crc32(body, crc32(JSON.stringify(facts), salt))
}

/** The position after this delivery. */
export function endOf({ seq, bytesBefore, delivery }: StoredDelivery): Position {
  return { seq, bytes: bytesBefore + delivery.body.length }
}
