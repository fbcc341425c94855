// The inventory: exports platform data other than pipelines as gauges. It covers cluster agents, feature flags, runners, schedules, milestones, the
// dependency list and its firewall, what CI configurations include, and the operator's own queries. Each kind has a collector: a row with the
// request, the schema of the response, and the points derived from the response. Read `platform/inventory/repositories.ts` first, then `things.ts`,
// which pairs the collectors with the configured projects and groups. The core's reader (`core/find/thing-reader.ts`) sends the requests and stores
// the responses. The feature adds a page and a doctor check, and `pipespan config check --online` tries its queries.
import { checkInventory } from './checks.ts'
import { ciPushes } from './ci-pushes.ts'
import { collectors } from '../../platform/inventory/collectors.ts'
import { costsOf, thingsOf, tryQueries } from './things.ts'
import { feature } from '../../daemon/feature.ts'
import { inventoryOptions, wrongQueries } from './options.ts'

export const inventory = feature({
  name: 'inventory',
  options: inventoryOptions,
  faults: (options, faultOf) => [...wrongQueries(options, faultOf)],
  gauges: collectors.map(({ kind, metrics }) => ({ switch: `inventory.${kind}`, metrics })),
  lineStep: ciPushes,
  console: async () => (await import('./components-page.ts')).componentsConsole,
  perToken: {
    things: thingsOf,
    checks: [{ name: 'inventory', run: checkInventory }],
    trials: { what: 'queries', run: tryQueries },
    costs: costsOf,
  },
})
