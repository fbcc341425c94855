// Limits what the pages show about the daemon itself to people who may not see all projects. No message may name a project that they may not see, and
// they see nothing about destinations and tokens.
import { textWithin, type Scope } from '../../core/store/ports/scope.ts'
import type { ConfigStatus, Setup } from '../sources/setup-shape.ts'
import type { ExportQueueStatus } from '../exports/columns.ts'
import type { Flow } from '../overview/flow.ts'

export const destinationsWithheld = 'Only people who may see all projects see the state of destinations.'

export function flowWithin(flow: Flow, scope: Scope): Flow {
  const { platformError, platformErrors } = flow
  const errorWithin = <T extends { readonly what: string; readonly remedy: string }>(error: T): T => ({
    ...error,
    what: textWithin(scope, error.what),
    remedy: textWithin(scope, error.remedy),
  })
  return {
    ...flow,
    platformErrors: scope.bounds === 'own' ? [] : platformErrors.map(errorWithin),
    platformError: platformError && errorWithin(platformError),
  }
}

export function queuesWithin(queues: readonly ExportQueueStatus[], scope: Scope): readonly ExportQueueStatus[] {
  if (scope.bounds === 'own') return []
  return queues.map(queue => {
    const { lastError } = queue
    return lastError === undefined
      ? queue
      : { ...queue, lastError: { ...lastError, message: textWithin(scope, lastError.message) } }
  })
}

/** Limits the daemon's setup to a scope. The names of hidden groups must already have been removed from `setup`. */
export function setupWithin(setup: Setup, { bounds }: Scope): Setup {
  if (bounds !== 'own') return setup
  const { webhooks, platform, hasPlatformToken, hasWebhookSecret, isExportOff } = setup
  return { webhooks, platform, hasPlatformToken, hasWebhookSecret, isExportOff, platforms: [], destinations: [] }
}

export function configWithin(status: ConfigStatus, scope: Scope): ConfigStatus {
  const { refused } = status
  if (refused === undefined) return status
  return { ...status, refused: { ...refused, faults: refused.faults.map(fault => textWithin(scope, fault)) } }
}
