// The options of regressions: how much slower or less reliable a pipeline or job must be to be flagged.
import { boolean, duration, integer } from './plain-kinds.ts'
import { setting } from './option.ts'

export const regressionOptions = {
  enabled: setting(boolean, {
    variable: 'PIPESPAN_REGRESSIONS_ENABLED',
    default: 'true',
    says: 'Find pipelines, jobs and sections of jobs that became slower or less reliable, in the background, with at most one percent of a processor: see docs/regressions.md. With `regression` in PIPESPAN_EVENTS they are also exported as events. Without the pages (PIPESPAN_PAGES=false) they are only searched for if they are exported.',
  }),
  slower: setting(integer({ min: 5, max: 1000 }), {
    variable: 'PIPESPAN_REGRESSIONS_SLOWER',
    default: '25',
    says: 'How much slower than usual a run must be to count as slow, in percent.',
  }),
  slowerBy: setting(duration, {
    variable: 'PIPESPAN_REGRESSIONS_SLOWER_BY',
    default: '30s',
    says: 'How much longer than usual a run must take to count as slow, in addition to the percentage.',
  }),
  failing: setting(integer({ min: 5, max: 90 }), {
    variable: 'PIPESPAN_REGRESSIONS_FAILING',
    default: '20',
    says: 'By how many percentage points the failure rate must rise to be flagged.',
  }),
}
