// Shows regressions on other pages: the overview, the trends page, and the list of what to fix first.
import { z } from 'zod'
import { addressWith } from '../../../console/layout/address.ts'
import { card } from '../../../console/layout/frame.ts'
import { counted, number } from '../../../console/layout/format.ts'
import { day } from '../series.ts'
import { html } from '../../../console/layout/html.ts'
import { onOverview } from '../../../console/overview/overview-shape.ts'
import { regressionRows, regressionTable, subjectOf, trendsOf, valueOf } from './list.ts'
import { regressionShape, regressionsOf } from '../documents.ts'
import { fixSources } from '../../../console/overview/overview-shape.ts'
import { onTrends, trendsIn } from '../../trends/port.ts'

/** `listed` is the maximum number of regressions that the overview lists. `costs` is the maximum number of regressions whose cost is read. */
const max = { listed: 5, costs: 20 }

export const onOtherPages = [
  onOverview({
    region: 'regressions',
    fields: {
      regressions: z.array(regressionShape).describe('Unresolved regressions, newest first.'),
      regressionCount: z.number(),
    },
    read: async parts => {
      const all = await regressionsOf(parts, { since: Infinity })
      return { regressions: all.slice(0, max.listed), regressionCount: all.length }
    },
    card: ({ regressions, regressionCount: count }, context) =>
      count > 0 &&
      card('Regressions', regressionRows(regressions, context), {
        aside: html`<a href="${context.base}/trends/regressions"
          >${count > regressions.length && `Show all ${number(count)}, or try a rule`}${count === regressions.length && 'Try a rule'}</a
        >`,
      }),
  }),
  onTrends({
    fields: {
      regressions: z
        .array(regressionShape)
        .describe('Regressions of the project or job in this period, and unresolved ones.'),
    },
    read: async (parts, { instance, projectId, group, job, branch }, since) => {
      const all = await regressionsOf(parts, { instance, projectId, group, job, since })
      return { regressions: all.filter(one => branch === undefined || one.branch === branch) }
    },
    card: ({ regressions }, { instance, projectId, group, own }, context) =>
      card(
        'Regressions',
        regressionTable(regressions, context, 'Nothing became slower or less reliable in this period.'),
        {
          aside: html`<a
            href="${addressWith(`${context.base}/trends/regressions`, { instance, project: projectId ?? group, own })}"
            >Show all, or try a rule</a
          >`,
        },
      ),
    marks: ({ regressions }, chart) =>
      regressions
        .filter(({ kind }) => kind === (chart === 'durations' ? 'slower' : 'failing'))
        .map(one => ({
          at: one.first.at,
          until: one.resolved?.at,
          description: `${subjectOf(one)}: ${valueOf(one, one.before)} → ${valueOf(one, one.after)} since #${one.first.pipelineId}`,
        })),
  }),
  fixSources.with({
    kind: 'regression',
    read: async (parts, since, until) => {
      const all = await regressionsOf(parts, { since: Infinity })
      return Promise.all(
        all.slice(0, max.costs).map(async one => {
          const { kind, before, after, instance, projectId, project, job, branch } = one
          const subject = { instance, projectId, job }
          const rows = await trendsIn(parts).series(subject, { step: day, since, until, branch })
          const [runs, totalMs] = [
            rows.reduce((sum, row) => sum + row.runs, 0),
            rows.reduce((sum, row) => sum + row.totalMs, 0),
          ]
          const [now, was] = [valueOf(one, after), valueOf(one, before)]
          const what =
            kind === 'slower' ? `Takes ${now}, up from ${was}` : `Fails in ${now} of its runs, up from ${was}`
          return {
            ...{ subject: subjectOf(one), project, of: subject },
            weekMs: (after - before) * (kind === 'slower' ? runs : totalMs),
            why: `${what}; ${counted(runs, 'run')} this week.`,
            path: trendsOf(one, ''),
          }
        }),
      )
    },
  }),
]
