// How far audit events have been read. Times are the platform's.
import { documentKind } from '../../core/store/ports/repository.ts'
import { z } from 'zod'

/** An event's id and time. */
const mark = z.tuple([z.number(), z.number()])
export type AuditMark = z.infer<typeof mark>

/** A period that is being read page by page. */
const auditWindow = z.object({
  since: z.number(),
  /** Absent: up to now. */
  until: z.number().optional(),
  /** The next page; absent before the first one. */
  next: z.string().optional(),
  /** When the platform served the first page. */
  servedAt: z.number().optional(),
  /** The newest event read so far. */
  newest: mark.optional(),
  /** The events of the few minutes before that. */
  recent: z.array(mark),
})
export type AuditWindow = z.infer<typeof auditWindow>

/** How far one source was read: the instance, a group, or a project. */
const auditCursor = z.object({
  instance: z.string(),
  /** `instance`, or the group or project as configured. */
  source: z.string(),
  /** All events since then were read or are being read. */
  since: z.number(),
  /** Time and id of the newest event read. */
  at: z.number(),
  id: z.number(),
  /** Events of the minutes before that. They are read again, because events may arrive late, so their ids must be recognised. */
  recent: z.array(mark),
  /** When a window was last read to its end; the store's time. */
  readAt: z.number().optional(),
  reading: auditWindow.optional(),
})
export type AuditCursor = z.infer<typeof auditCursor>

/** A backfill under way. */
const auditBackfill = z.object({
  instance: z.string(),
  /** Derived from the command's options, so that the same command continues it. */
  name: z.string(),
  since: z.number(),
  until: z.number(),
  startedAt: z.number(),
  /** Sources that are done. */
  done: z.array(z.string()),
  /** The source that is being read; absent before its first page. */
  reading: auditWindow.optional(),
})
export type AuditBackfill = z.infer<typeof auditBackfill>

/** Written by the reader, and by backfills. */
export const auditCursors = documentKind('audit/cursor', auditCursor, ['instance', 'source'], {
  about: ({ instance, source }) => ({ instance, paths: [source === 'instance' ? '' : source] }),
})
export const auditBackfills = documentKind('audit/backfill', auditBackfill, ['instance', 'name'])
