// Deployments, changes (merge requests) and incidents, and the four keys that are counted of them: how often something is deployed, how long a commit
// takes to production, how many deployments fail, and how long it takes until the service is restored. Each is reported many times, by events and by
// jobs (`line-step.ts`), and counted once (`counter.ts`). Read `deployment-counter.ts` first: a deployment is compared with those before it in its
// environment, and the platform is asked for the commits that it brought to production.
import { countedStep } from './line-step.ts'
import { counters, counts, incidentPoller } from './parts.ts'
import { deploymentOptions, requestCosts } from './options.ts'
import { deploymentTables } from './store-part.ts'
import { eventWait } from '../../core/take-in/event-reports.ts'
import { feature } from '../../daemon/feature.ts'

export const deployments = feature({
  name: 'deployments',
  options: deploymentOptions,
  schema: deploymentTables,
  lineStep: (_, { config }) => {
    const afterEvent = eventWait(config)
    const change = config.events.includes('change') ? afterEvent : undefined
    return countedStep({ afterEvent, afterSnapshot: config.enrichDeadline, change })
  },
  parts: counters,
  perToken: {
    part: { why: 'incidents that changed meanwhile are read after the next start', create: incidentPoller },
    checks: [{ name: 'events', run: async (_, known) => (await import('./checks.ts')).checkEvents(known) }],
    costs: requestCosts,
  },
  counts,
  console: async (_, context) => (await import('./console.ts')).deploymentsConsole(context),
})
