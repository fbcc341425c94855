// Computes where to continue reading a source's audit events. Pure.
import { lastMinutes, maxWindow, newestOf, overlap } from './audit-window.ts'
import type { AuditCursor, AuditMark, AuditWindow } from '../store/ports/audit-documents.ts'
import type { Millis } from '../model/instant.ts'

/** While nothing happens, the cursor follows the platform's clock at this distance, so that the next window stays short, ms. */
const idle = 3_600_000

export function firstCursor(instance: string, source: string, since: Millis): AuditCursor {
  return { instance, source, since, at: since, id: 0, recent: [] }
}

/** The next window to read: up to now, or 30 days at most. */
export function nextWindow({ since, at }: AuditCursor, now: Millis): AuditWindow {
  const from = Math.max(since, at - overlap)
  return { since: from, ...(now - from > maxWindow && { until: from + maxWindow }), recent: [] }
}

/**
 * The cursor after a window was read to its end. All times are the platform's. An event dated in the future does not move the cursor into the
 * future. `lookback`: how much is read once more where that clock was set back, ms.
 */
export function afterWindow(
  before: AuditCursor,
  { until, newest, recent, servedAt }: AuditWindow,
  lookback: number,
): AuditCursor {
  const marks = [...before.recent, ...recent]
  const ownNow = servedAt ?? Infinity
  const isSetBack = ownNow < before.at - overlap
  const reached = Math.max(Math.min(newest?.[1] ?? -Infinity, ownNow), (servedAt ?? -Infinity) - idle)
  const at = isSetBack ? ownNow - lookback : Math.max(before.at, until ?? reached)
  const { reading: _, ...rest } = before
  return { ...rest, at, id: idOf(newestOf(marks), before.id), recent: lastMinutes(marks, at) }
}

function idOf(mark: AuditMark | undefined, before: number): number {
  return mark?.[0] ?? before
}
