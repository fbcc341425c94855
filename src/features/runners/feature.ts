// The page of runners: how busy the runners of each set of tags were over the last day, how long jobs waited for one, and which jobs wait now. It is
// computed from the stored pipelines (`figures.ts`, the file to read first) when somebody looks at it; where the inventory lists runners, their number
// is beside.
import { feature } from '../../daemon/feature.ts'

export const runners = feature({
  name: 'runners',
  console: async () => (await import('./console.ts')).runnersConsole(),
})
