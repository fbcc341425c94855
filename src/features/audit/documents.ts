// Documents in the store that record how far audit events have been read. All times are the platform's, unless a comment names another clock.
import { documentKind } from '../../core/store/ports/repository.ts'
import { z } from 'zod'

/** The id and the time of an audit event. */
const mark = z.tuple([z.number(), z.number()])
export type AuditMark = z.infer<typeof mark>

/** A time window that is being read page by page. */
const auditWindow = z.object({
  since: z.number(),
  /** The end of the window; absent if the window ends now. */
  until: z.number().optional(),
  /** The token of the next page; absent before the first page. */
  next: z.string().optional(),
  /** The time at which the platform served the first page. */
  servedAt: z.number().optional(),
  newest: mark.optional(),
  /** The events of the few minutes before the newest event. */
  recent: z.array(mark),
})
export type AuditWindow = z.infer<typeof auditWindow>

/** The reading progress of one source, which is the instance, a group, or a project. */
const auditCursor = z.object({
  instance: z.string(),
  /** The source: `instance`, or the group or project as configured. */
  source: z.string(),
  /** The start of the period whose events have all been read or are being read. */
  since: z.number(),
  /** `at` and `id`: the time and the id of the newest event that was read. */
  at: z.number(),
  id: z.number(),
  /**
   * The events of the few minutes before the newest event. These minutes are reread, because events may arrive late, so the ids are needed for
   * deduplication.
   */
  recent: z.array(mark),
  /** The time on the store's clock at which a window was last read to its end. */
  readAt: z.number().optional(),
  reading: auditWindow.optional(),
})
export type AuditCursor = z.infer<typeof auditCursor>

const auditBackfill = z.object({
  instance: z.string(),
  /** A name derived from the command's options, so that the same command resumes the backfill. */
  name: z.string(),
  since: z.number(),
  until: z.number(),
  startedAt: z.number(),
  /** Sources that have been read completely. */
  done: z.array(z.string()),
  /** The window of the source that is being read; absent before its first page. */
  reading: auditWindow.optional(),
})
export type AuditBackfill = z.infer<typeof auditBackfill>

/** The poller and backfills write these documents. */
export const auditCursors = documentKind('audit/cursor', auditCursor, ['instance', 'source'], {
  about: ({ instance, source }) => ({ instance, paths: [source === 'instance' ? '' : source] }),
})
export const auditBackfills = documentKind('audit/backfill', auditBackfill, ['instance', 'name'])
