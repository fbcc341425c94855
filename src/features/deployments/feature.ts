// Deployments, changes (merge requests) and incidents, and the four keys that are counted of them: how often something is deployed, how long a commit
// takes to production, how many deployments fail, and how long it takes until the service is restored. Each is reported many times, by events and by
// jobs (`line-step.ts`), and counted once (`counter.ts`). Read `deployment-counter.ts` first: a deployment is compared with those before it in its
// environment, and the platform is asked for the commits that it brought to production.
import { deploymentTables } from './store-part.ts'
import { feature } from '../../daemon/feature.ts'

export const deployments = feature({
  name: 'deployments',
  schema: deploymentTables,
  console: async (_, context) => (await import('./console.ts')).deploymentsConsole(context),
})
