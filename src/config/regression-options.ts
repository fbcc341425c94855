// The options of what became slower or less reliable: from when on that is worth an alarm.
import { boolean, duration, integer } from './plain-kinds.ts'
import { setting } from './option.ts'

export const regressionOptions = {
  enabled: setting(boolean, {
    variable: 'PIPESPAN_REGRESSIONS_ENABLED',
    default: 'true',
    says: 'Find pipelines and jobs that became slower or less reliable, in the background, with a hundredth of one processor at most; docs/regressions.md says how. With `regression` in PIPESPAN_EVENTS they are exported as events, too.',
  }),
  slower: setting(integer({ min: 5, max: 1000 }), {
    variable: 'PIPESPAN_REGRESSIONS_SLOWER',
    default: '25',
    says: 'A run that takes so many percent longer than usual counts as slow.',
  }),
  slowerBy: setting(duration, {
    variable: 'PIPESPAN_REGRESSIONS_SLOWER_BY',
    default: '30s',
    says: 'And only where that is at least so long.',
  }),
  failing: setting(integer({ min: 5, max: 90 }), {
    variable: 'PIPESPAN_REGRESSIONS_FAILING',
    default: '20',
    says: 'So many more of a hundred runs must fail than usual.',
  }),
}
