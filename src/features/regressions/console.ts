// The regressions page and its routes.
import { z } from 'zod'
import { answerOf } from '../../console/access/own-values.ts'
import { filteredAt, type ConsolePart } from '../../console/console-part.ts'
import { get } from '../../console/api/api-route.ts'
import { onOtherPages } from './pages/elsewhere.ts'
import { instanceQuery, ownValue, projectId, text } from '../../console/api/api-queries.ts'
import { previewOf, previewQuery, previewShape, shownRule } from './preview.ts'
import { regressionsOf, regressionsShape } from './documents.ts'
import { regressionsPage } from './pages/page.ts'
import type { RegressionOptions } from './options.ts'

const query = z.object({
  project: projectId,
  ...instanceQuery.shape,
  own: ownValue,
  job: text('Exact name of a job. If empty, only regressions of pipelines are returned.'),
})

export function regressionsConsole(options: RegressionOptions): ConsolePart {
  return {
    fills: onOtherPages,
    pages: (parts, { groupBy }) => [
      filteredAt(parts, '/trends/regressions', async (context, of) => regressionsPage(of, options, groupBy, context)),
    ],
    tools: [
      {
        name: 'regressions',
        title: 'Regressions',
        description:
          'Pipelines and jobs that became slower (`before` and `after` in milliseconds) or less reliable (`before` and `after` as shares of failed runs), with the first bad pipeline and the likely cause. Unresolved regressions come first.',
        path: '/trends/regressions',
      },
    ],
    routes: parts => [
      get(
        '/trends/regressions',
        'Regressions, where a pipeline or job became slower or less reliable: unresolved ones, and those resolved in the last 100 days, for all projects or one project.',
        { query, answer: regressionsShape },
        async ({ project, instance, job, own: value }) =>
          answerOf(parts, value, async of => ({
            regressions: await regressionsOf(of, { instance, projectId: project, job }),
          })),
      ),
      get(
        '/trends/regressions/preview/:projectId',
        'The regressions that a rule would have flagged in a project, judged by its stored pipelines. Changes nothing.',
        { query: previewQuery.extend(instanceQuery.shape), answer: previewShape },
        async ({ projectId, instance, ...asked }) =>
          previewOf(parts, { projectId, instance }, shownRule(asked, options.regressions), options),
      ),
    ],
  }
}
