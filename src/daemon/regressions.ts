// Starts the search for pipelines and jobs that became slower or less reliable, unless it is switched off or nothing would show what it finds.
import { createJudge, type Announcement, type Judge } from '../features/regressions/judge-loop.ts'
import { createSingleton } from '../core/find/singleton.ts'
import { startLoop, type Started } from './steps.ts'
import { takingOf } from './processing.ts'
import { regressionWord } from '../platform/webhook/event-selection.ts'
import { ofRegression } from '../features/regressions/condition.ts'
import { takeEvents, type EventTaking } from '../core/take-in/take-events.ts'
import type { Config } from './configuration/options.ts'
import type { Notifier } from '../core/store/ports/reporter.ts'
import type { Rule } from '../features/regressions/rule.ts'
import type { Wiring } from './wiring.ts'

function ruleOf({ regressions }: Pick<Config, 'regressions'>): Rule {
  const { slower, slowerBy, failing } = regressions
  return { slower: slower / 100, slowerBy, failing: failing / 100 }
}

/** Some jobs have no usual duration. */
export function judgesSections({ job }: Pick<Config, 'job'>): boolean {
  return job.sections.includes('all')
}

/** Without pages, only if they are exported or somebody is notified. */
export function judgesRegressions(
  { regressions, pages, events }: Pick<Config, 'regressions' | 'pages' | 'events'>,
  notifier: Pick<Notifier, 'isAbout'>,
): boolean {
  return regressions.enabled && (pages.enabled || events.includes(regressionWord) || notifier.isAbout('regressions'))
}

/** Exports the events, if they are selected, and notifies people, in one transaction. */
export function announcing(
  taking: EventTaking,
  notifier: Pick<Notifier, 'reports'>,
  isExported: boolean,
): (found: readonly Announcement[]) => Promise<void> {
  return async found => {
    const conditions = found
      .filter(({ regression: { project, instance } }) => taking.selection.project(project, instance))
      .map(({ regression, which, event }) => ofRegression(regression, which, event.body))
    await takeEvents(isExported ? found.map(({ event }) => event) : [], taking, notifier.reports(...conditions))
  }
}

/** The part is undefined if nothing is judged. */
export function startRegressions(wiring: Wiring): Started<Judge | undefined> {
  const { config, store, clock, log } = wiring
  const why = 'what is new is judged after the next start'
  if (!judgesRegressions(config, wiring.notifier)) return startLoop(undefined, why)
  const part = createJudge({
    ...{ views: store.views, regressions: store.repositories.regressions, rule: ruleOf(config), clock, log },
    lease: createSingleton('regressions', store.leases, clock),
    readsSections: judgesSections(config) ? 'all' : config.job.sections.length > 0 ? 'some' : 'none',
    take: announcing(takingOf(wiring), wiring.notifier, config.events.includes(regressionWord)),
  })
  return startLoop(part, why)
}
