// Starts what finds out what became slower or less reliable, unless that is switched off.
import { createJudge, type Judge } from '../regressions/judge-loop.ts'
import { createSingleton } from '../discovery/singleton.ts'
import { eventRulesOf } from './processing.ts'
import { regressionWord } from '../platform/webhook/event-selection.ts'
import { takeEvents } from '../processing/take-events.ts'
import type { Config } from '../config/options.ts'
import type { Context } from './context.ts'
import type { ExportParts } from './export.ts'
import type { Rule } from '../regressions/rule.ts'
import type { Selection } from '../processing/selection.ts'
import type { Started } from './steps.ts'

export function ruleOf({ regressions }: Pick<Config, 'regressions'>): Rule {
  const { slower, slowerBy, failing } = regressions
  return { slower: slower / 100, slowerBy, failing: failing / 100 }
}

/** The part is undefined where nothing is judged. */
export function startRegressions(
  context: Context,
  selection: Selection,
  queues: ExportParts['queues'],
): Started<Judge | undefined> {
  const { config, store, clock, log } = context
  const why = 'what is new is judged after the next start'
  if (!config.regressions.enabled) return { part: undefined, why, stop: async () => undefined }
  const taking = { runs: store.runs, selection, rules: eventRulesOf(context, queues), now: () => clock.now() }
  const part = createJudge({
    ...{ views: store.views, regressions: store.repositories.regressions, rule: ruleOf(config), clock, log },
    lease: createSingleton('regressions', store.leases, clock),
    readsSections: config.job.sections.length > 0,
    ...(config.events.includes(regressionWord) && { take: async events => takeEvents(events, taking) }),
  })
  part.start()
  return { part, why, stop: async () => part.stop() }
}
