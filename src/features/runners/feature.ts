// The runners page: how busy the runners of each tag set were over the last day, how long jobs waited for a runner, and which jobs are waiting now.
// The page is computed from the stored pipelines when a user opens it (read `figures.ts` first). If the inventory lists runners, the page also shows
// their number.
import { feature } from '../../daemon/feature.ts'

export const runners = feature({
  name: 'runners',
  console: async () => (await import('./console.ts')).runnersConsole(),
})
