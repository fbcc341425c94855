// Deployments, changes (merge requests) and incidents, and the four key metrics computed from them: how often something is deployed, how long a
// commit takes to reach production, how many deployments fail, and how long it takes to restore the service. Each of them is reported many times, by
// events and by jobs (`line-step.ts`), but counted once (`counter.ts`). Start with `deployment-counter.ts`: it compares a deployment with the
// previous ones in its environment, and requests the commits that it brought to production.
import { countedStep } from './line-step.ts'
import { counters, counts, incidentPoller } from './parts.ts'
import { deploymentOptions, requestCosts } from './options.ts'
import { deploymentTables } from './store-part.ts'
import { eventWait } from '../../core/take-in/events.ts'
import { feature } from '../../daemon/feature.ts'
import { figureTables, projectChanges } from './metrics.ts'
import { productionBy } from './model/deployment.ts'

export const deployments = feature({
  name: 'deployments',
  options: deploymentOptions,
  schema: deploymentTables,
  unreported: ({ events }) =>
    events.includes('deployment')
      ? {}
      : { deployments: 'Add deployment to PIPESPAN_EVENTS: only webhooks report that a deployment failed.' },
  lineStep: ({ production }, { config }) => {
    const afterEvent = eventWait(config)
    const change = config.events.includes('change') ? afterEvent : undefined
    const isProduction = productionBy(production)
    return countedStep({ afterEvent, afterSnapshot: config.enrichDeadline, change }, isProduction)
  },
  parts: counters,
  perToken: {
    part: { why: 'incidents that changed meanwhile are read after the next start', create: incidentPoller },
    checks: [{ name: 'events', run: async (_, known) => (await import('./checks.ts')).checkEvents(known) }],
    costs: requestCosts,
  },
  counts,
  figures: figureTables,
  projectMetrics: projectChanges,
  console: async (options, context) => (await import('./console.ts')).deploymentsConsole(options, context),
})
