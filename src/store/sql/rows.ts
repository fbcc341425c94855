// Rows of deliveries, read into what the ports speak.
import { bytes, number, optional, record, text } from './columns.ts'
import type { Delivery } from '../ports/inbox.ts'

export type { Row } from './columns.ts'

export const itemOf = record({
  id: number('id'),
  key: optional(text, 'key'),
  event: text('event'),
  instance: optional(text, 'instance'),
  source: text<Delivery['source']>('source'),
  receivedAt: number('received_at'),
  body: bytes('body'),
})

export const quarantinedOf = record({
  id: number('id'),
  event: text('event'),
  instance: optional(text, 'instance'),
  source: text<Delivery['source']>('source'),
  receivedAt: number('received_at'),
  reason: text('reason'),
  version: text('version'),
  size: number('size'),
})
