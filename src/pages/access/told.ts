// What the pages say about the daemon as a whole to people within bounds: no text that may name a project they do not see, and to people who are bound
// to some projects nothing about destinations and tokens.
import { untold, type Scope } from '../../store/ports/scope.ts'
import type { ConfigStatus, Setup } from '../sources/setup-shape.ts'
import type { ExportQueueStatus } from '../exports/queue-shape.ts'
import type { Flow } from '../overview/flow.ts'

/** Stands in the place of the state of destinations. */
export const destinationsUntold = 'The state of destinations is shown to people who may see all projects.'

export function toldFlow(flow: Flow, { bounds }: Scope): Flow {
  if (bounds === 'none') return flow
  const errors = flow.platformErrors.map(({ name }) => ({
    ...{
      name,
      what: `${name === 'default' ? '' : `${name}: `}Requests to the platform fail.`,
      remedy: 'Read why in the log.',
    },
  }))
  const [first] = errors
  return {
    ...flow,
    platformErrors: bounds === 'own' ? [] : errors,
    platformError: first && { what: 'Requests to the platform fail.', remedy: first.remedy },
  }
}

export function toldQueues(queues: readonly ExportQueueStatus[], { bounds }: Scope): readonly ExportQueueStatus[] {
  if (bounds === 'none') return queues
  if (bounds === 'own') return []
  return queues.map(queue =>
    queue.lastError === undefined ? queue : { ...queue, lastError: { ...queue.lastError, message: untold } },
  )
}

/** `setup`: without the names of hidden groups. */
export function toldSetup(setup: Setup, { bounds }: Scope): Setup {
  if (bounds !== 'own') return setup
  const { webhooks, platform, hasPlatformToken, hasWebhookSecret, isExportOff } = setup
  return { webhooks, platform, hasPlatformToken, hasWebhookSecret, isExportOff, platforms: [], destinations: [] }
}

export function toldConfig(status: ConfigStatus, { bounds }: Scope): ConfigStatus {
  const { refused } = status
  return bounds === 'none' || refused === undefined ? status : { ...status, refused: { ...refused, faults: [untold] } }
}
