// Finds regressions: pipelines, jobs and sections of jobs that became slower or less reliable. They are found in the daily trend figures and in the
// newest runs. Each is flagged once, with its first bad run and the likely cause, and resolved when it is over. Read `find-regressions.ts` first:
// it judges a series of runs, and docs/regressions.md gives the reasons. `judge-project.ts` chooses the series, `one-of-each.ts` reduces the findings
// to one flag per cause, and `judge-loop.ts` stores and announces new regressions. The feature adds a page, a card on other pages, a command, events
// and notifications.
import { addRegressionsCommand } from './list-command.ts'
import { announcing, createJudge } from './judge-loop.ts'
import { feature, type PartContext } from '../../daemon/feature.ts'
import { regressionOptions, type RegressionOptions } from './options.ts'
import { sectionStep, sectionTables } from './section-figures.ts'

/** The name that selects regression events in the options. */
const word = 'regression'

export const regressions = feature({
  name: 'regressions',
  options: regressionOptions,
  needs: ['trends'],
  schema: sectionTables,
  lineStep: () => sectionStep,
  ownEvents: word,
  unreported: ({ regressions: { enabled } }) =>
    enabled ? {} : { regressions: 'Turn on regressions.enabled (PIPESPAN_REGRESSIONS_ENABLED).' },
  parts: [
    {
      why: 'new runs are judged after the next start',
      create: (options, context) => {
        if (!isJudged(options, context)) return undefined
        const { config, taking, notifier } = context
        return createJudge(options, context, announcing(taking, notifier, config.events.includes(word)))
      },
    },
  ],
  console: async options => (await import('./console.ts')).regressionsConsole(options),
  commands: addRegressionsCommand,
})

/** Whether the daemon looks for regressions. If the pages are off, it does so only if regressions are exported or somebody is notified of them. */
function isJudged({ regressions: { enabled } }: RegressionOptions, { config, notifier }: PartContext): boolean {
  return enabled && (config.pages.enabled || config.events.includes(word) || notifier.isAbout('regressions'))
}
