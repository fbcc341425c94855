// Figures over time: how long pipelines and jobs took and waited, how many failed or were flaky, by hour and day, and what runners' time cost, by day. A
// snapshot adds what counts of it to a table (`counting/added.ts`); every few seconds that is folded into the stored figures (`counting/fold.ts`: read it
// first). Pages, usual durations, the search for a job and other features read them (`reading/`, `cost/`, `port.ts`). What they do not distinguish, exact
// branches and runners, is counted over the stored runs when somebody asks.
import { countingStep } from './counting/added.ts'
import { createFoldLoop } from './counting/fold.ts'
import { feature } from '../../daemon/feature.ts'
import { pastDurationsOf } from './past-durations.ts'
import { trendTables } from './store-part.ts'

export const trends = feature({
  name: 'trends',
  schema: trendTables,
  lineStep: countingStep,
  pastDurations: pastDurationsOf,
  parts: [{ why: 'trends continue after the next start', create: (_, context) => createFoldLoop(context) }],
  console: async (_, context) => (await import('./console.ts')).trendsConsole(context),
})
