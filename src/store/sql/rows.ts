// Rows as both databases give them, read into what the ports speak. Both name their columns alike.
import type { DamagedRows } from './stored-json.ts'
import type { DeadLetter, ExportQueue, ExportQueueState } from '../ports/outbox.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Delivery, InboxItem, QuarantinedDelivery } from '../ports/inbox.ts'

/** A row by column name. */
export type Row = Readonly<Record<string, unknown>>

/** Selects what `deadLetterOf` reads, and the chunk as `content`; a condition may follow with AND. */
export const selectDead = `
  SELECT e.id, e.destination, e.signal, e.answer_status, e.error, e.tries, e.pending_since, e.settled_at,
         r.instance, r.pipeline_id, p.attempt, p.number, p.content
  FROM outbox e JOIN chunks p ON p.id = e.chunk_id JOIN runs r ON r.id = p.run_id
  WHERE e.state = 'dead'`

export function deadLetterOf(row: Row): DeadLetter {
  return {
    id: row.id as number,
    destination: row.destination as string,
    signal: row.signal as ExportQueue['signal'],
    instance: row.instance as string,
    pipelineId: row.pipeline_id as number,
    attempt: row.attempt as number,
    chunk: row.number as number,
    status: row.answer_status as number,
    error: row.error as string,
    tries: row.tries as number,
    pendingSince: row.pending_since as number,
    settledAt: row.settled_at as number,
  }
}

/** The part that an export is to send; undefined where it is damaged. */
export function exportedPart(damaged: DamagedRows, id: number, read: () => Chunk): Chunk | undefined {
  return damaged.orNothing({ export: id }, 'it cannot be sent: a dead letter', read)
}

/** What `queueStateOf` reads: the backlog and the dead letters, each through its own index, never the delivered ones. */
export const selectQueues = `
  SELECT destination, signal, sum(pending) AS pending, min(oldest) AS oldest, sum(dead) AS dead, max(error) AS error
  FROM (
    SELECT destination, signal, count(*) AS pending, min(pending_since) AS oldest, 0 AS dead, max(error) AS error
    FROM outbox WHERE state = 'pending' GROUP BY destination, signal
    UNION ALL
    SELECT destination, signal, 0, NULL, count(*), NULL
    FROM outbox WHERE state = 'dead' GROUP BY destination, signal
  ) AS queues GROUP BY destination, signal ORDER BY destination, signal`

export function queueStateOf(row: Row): ExportQueueState {
  return {
    destination: row.destination as string,
    signal: row.signal as ExportQueue['signal'],
    pending: row.pending as number,
    oldest: (row.oldest ?? undefined) as number | undefined,
    dead: row.dead as number,
    lastError: (row.error ?? undefined) as string | undefined,
  }
}

export function itemOf(row: Row): InboxItem {
  return {
    id: row.id as number,
    key: (row.key ?? undefined) as string | undefined,
    event: row.event as string,
    instance: (row.instance ?? undefined) as string | undefined,
    source: row.source as Delivery['source'],
    receivedAt: row.received_at as number,
    body: row.body as Uint8Array,
  }
}

export function keptOf(row: Row): QuarantinedDelivery {
  return {
    id: row.id as number,
    event: row.event as string,
    instance: (row.instance ?? undefined) as string | undefined,
    source: row.source as Delivery['source'],
    receivedAt: row.received_at as number,
    reason: row.reason as string,
    version: row.version as string,
    size: row.size as number,
  }
}
