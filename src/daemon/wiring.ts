// What the start steps are given that process, ask a platform, or notify people.
import type { Connection } from './connections.ts'
import type { Context } from './context.ts'
import type { ExportParts } from './export.ts'
import type { Notifier } from '../features/notifications/notifier.ts'
import type { Selection } from '../core/take-in/selection.ts'

export interface Wiring extends Context, ExportParts {
  readonly connections: readonly Connection[]
  readonly selection: Selection
  readonly notifier: Notifier
}
