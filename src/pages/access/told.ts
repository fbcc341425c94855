// What the pages say about the daemon as a whole to people within bounds: no text that may name a project they do not see, and to people who are bound
// to some projects nothing about destinations and tokens.
import { told, type Scope } from '../../store/ports/scope.ts'
import type { ConfigStatus, Setup } from '../sources/setup-shape.ts'
import type { ExportQueueStatus } from '../exports/queue-shape.ts'
import type { Flow } from '../overview/flow.ts'

/** Stands in the place of the state of destinations. */
export const destinationsUntold = 'The state of destinations is shown to people who may see all projects.'

export function toldFlow(flow: Flow, scope: Scope): Flow {
  const { platformError, platformErrors } = flow
  const toldError = <T extends { readonly what: string; readonly remedy: string }>(error: T): T => ({
    ...error,
    what: told(scope, error.what),
    remedy: told(scope, error.remedy),
  })
  return {
    ...flow,
    platformErrors: scope.bounds === 'own' ? [] : platformErrors.map(toldError),
    platformError: platformError && toldError(platformError),
  }
}

export function toldQueues(queues: readonly ExportQueueStatus[], scope: Scope): readonly ExportQueueStatus[] {
  if (scope.bounds === 'own') return []
  return queues.map(queue => {
    const { lastError } = queue
    return lastError === undefined
      ? queue
      : { ...queue, lastError: { ...lastError, message: told(scope, lastError.message) } }
  })
}

/** `setup`: without the names of hidden groups. */
export function toldSetup(setup: Setup, { bounds }: Scope): Setup {
  if (bounds !== 'own') return setup
  const { webhooks, platform, hasPlatformToken, hasWebhookSecret, isExportOff } = setup
  return { webhooks, platform, hasPlatformToken, hasWebhookSecret, isExportOff, platforms: [], destinations: [] }
}

export function toldConfig(status: ConfigStatus, scope: Scope): ConfigStatus {
  const { refused } = status
  if (refused === undefined) return status
  return { ...status, refused: { ...refused, faults: refused.faults.map(fault => told(scope, fault)) } }
}
