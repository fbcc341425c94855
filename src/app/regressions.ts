// Starts the search for pipelines and jobs that became slower or less reliable, unless it is switched off or nothing would show what it finds.
import { createJudge, type Judge } from '../regressions/judge-loop.ts'
import { createSingleton } from '../discovery/singleton.ts'
import { startLoop, type Started } from './steps.ts'
import { eventRulesOf } from './processing.ts'
import { regressionWord } from '../platform/webhook/event-selection.ts'
import { takeEvents } from '../processing/take-events.ts'
import type { Config } from '../config/options.ts'
import type { Context } from './context.ts'
import type { ExportParts } from './export.ts'
import type { Rule } from '../regressions/rule.ts'
import type { Selection } from '../processing/selection.ts'

function ruleOf({ regressions }: Pick<Config, 'regressions'>): Rule {
  const { slower, slowerBy, failing } = regressions
  return { slower: slower / 100, slowerBy, failing: failing / 100 }
}

/** Some jobs have no usual duration. */
export function judgesSections({ job }: Pick<Config, 'job'>): boolean {
  return job.sections.includes('all')
}

/** Without pages, only if they are exported. */
export function judgesRegressions({
  regressions,
  pages,
  events,
}: Pick<Config, 'regressions' | 'pages' | 'events'>): boolean {
  return regressions.enabled && (pages.enabled || events.includes(regressionWord))
}

/** The part is undefined if nothing is judged. */
export function startRegressions(
  context: Context,
  selection: Selection,
  queues: ExportParts['queues'],
): Started<Judge | undefined> {
  const { config, store, clock, log } = context
  const why = 'what is new is judged after the next start'
  if (!judgesRegressions(config)) return startLoop(undefined, why)
  const taking = { runs: store.runs, selection, rules: eventRulesOf(context, queues), now: () => clock.now() }
  const part = createJudge({
    ...{ views: store.views, regressions: store.repositories.regressions, rule: ruleOf(config), clock, log },
    lease: createSingleton('regressions', store.leases, clock),
    readsSections: judgesSections(config) ? 'all' : config.job.sections.length > 0 ? 'some' : 'none',
    ...(config.events.includes(regressionWord) && { take: async events => takeEvents(events, taking) }),
  })
  return startLoop(part, why)
}
