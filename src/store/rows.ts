// Rows as both databases give them, read into what the ports speak. Both name their columns alike.
import type { DeadLetter, Lane } from './exports.ts'
import type { Delivery, InboxItem, KeptDelivery } from './inbox.ts'

/** A row by column name. */
export type Row = Readonly<Record<string, unknown>>

/** Selects what `deadLetterOf` reads, and the frozen part as `view`; a condition may follow with AND. */
export const selectDead = `
  SELECT e.id, e.destination, e.signal, e.answer_status, e.error, e.tries, e.owed_at, e.settled_at,
         r.instance, r.pipeline_id, p.attempt, p.part, p.view
  FROM exports e JOIN parts p ON p.id = e.part_id JOIN runs r ON r.id = p.run_id
  WHERE e.state = 'dead'`

export function deadLetterOf(row: Row): DeadLetter {
  return {
    id: row.id as number,
    destination: row.destination as string,
    signal: row.signal as Lane['signal'],
    instance: row.instance as string,
    pipelineId: row.pipeline_id as number,
    attempt: row.attempt as number,
    part: row.part as number,
    status: row.answer_status as number,
    error: row.error as string,
    tries: row.tries as number,
    owedAt: row.owed_at as number,
    settledAt: row.settled_at as number,
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

export function keptOf(row: Row): KeptDelivery {
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
