// What the start steps are given that process, ask a platform, or report conditions.
import type { Connection } from './connections.ts'
import type { Context } from './context.ts'
import type { ExportParts } from './export.ts'
import type { LineStep, Notifier, PastDurations } from '../core/store/ports/reporter.ts'
import type { Selection } from '../core/take-in/selection.ts'

export interface Wiring extends Context, ExportParts {
  readonly connections: readonly Connection[]
  readonly selection: Selection
  readonly notifier: Notifier
  /** What features take from the line. */
  readonly lineSteps: readonly LineStep[]
  readonly pastDurations: PastDurations
}
