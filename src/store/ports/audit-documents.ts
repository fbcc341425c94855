// How far the reading of audit events has come. Times are the platform's.
import { z } from 'zod'

/** An event by its number and its time. */
const mark = z.tuple([z.number(), z.number()])
export type AuditMark = z.infer<typeof mark>

/** A stretch of time that is being read, page by page, and how far that has come. */
export const auditWindow = z.object({
  since: z.number(),
  /** Absent: up to now. */
  until: z.number().optional(),
  /** The page that comes next; absent at the first one. */
  next: z.string().optional(),
  /** When the platform served the first page. */
  servedAt: z.number().optional(),
  /** The newest event that was read of it. */
  newest: mark.optional(),
  /** The others that are hardly older. */
  recent: z.array(mark),
})
export type AuditWindow = z.infer<typeof auditWindow>

/** Of one source: the instance, or a group. */
export const auditCursor = z.object({
  instance: z.string(),
  /** `instance`, or the group as it was configured. */
  source: z.string(),
  /** Everything from here on was read, or is being read. */
  since: z.number(),
  /** Up to where it was read, and the newest event of that. */
  at: z.number(),
  id: z.number(),
  /** Events of the last minutes before that: when these are read again, they are known. */
  recent: z.array(mark),
  /** When something was last read to its end; the store's time. */
  readAt: z.number().optional(),
  reading: auditWindow.optional(),
})
export type AuditCursor = z.infer<typeof auditCursor>

/** Of the past, by a command; one under way. */
export const auditBackfill = z.object({
  instance: z.string(),
  /** Derived from what it was asked to look over: the same command goes on with it. */
  name: z.string(),
  since: z.number(),
  until: z.number(),
  startedAt: z.number(),
  /** Sources that are done. */
  done: z.array(z.string()),
  /** Where the next one has come to; absent before its first page. */
  reading: auditWindow.optional(),
})
export type AuditBackfill = z.infer<typeof auditBackfill>
