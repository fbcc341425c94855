// The options for regressions: whether the daemon looks for them, and how much slower or less reliable a pipeline or job must be to be flagged.
import { boolean, duration, integer } from '../../daemon/configuration/plain-kinds.ts'
import { setting } from '../../daemon/configuration/option.ts'
import type { Rule } from './series.ts'
import type { SliceOf } from '../../daemon/feature.ts'

/** The bounds of the options: percent for `slower`, percentage points for `failing`. */
export const bounds = { slower: { min: 5, max: 1_000 }, failing: { min: 5, max: 90 } } as const

export const regressionOptions = {
  Regressions: {
    regressions: {
      enabled: setting(boolean, { default: 'true' }).describe(
        'Find pipelines, jobs and sections of jobs that became slower or less reliable, in the background, with at most one percent of a processor: see docs/regressions.md. With `regression` in PIPESPAN_EVENTS they are also exported as events. Without the pages (PIPESPAN_PAGES=false) they are only searched for if they are exported.',
      ),
      slower: setting(integer(bounds.slower), { default: '25' }).describe(
        'How much slower than usual a run must be to count as slow, in percent.',
      ),
      slowerBy: setting(duration, { default: '30s' }).describe(
        'How much longer than usual a run must take to count as slow, in addition to the percentage.',
      ),
      failing: setting(integer(bounds.failing), { default: '20' }).describe(
        'By how many percentage points the failure rate must rise to be flagged.',
      ),
    },
  },
}

export type RegressionOptions = SliceOf<typeof regressionOptions>

export function ruleOf({ slower, slowerBy, failing }: Omit<RegressionOptions['regressions'], 'enabled'>): Rule {
  return { slower: slower / 100, slowerBy, failing: failing / 100 }
}
