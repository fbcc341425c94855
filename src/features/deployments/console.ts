// The pages and JSON API routes for deployments and changes (merge requests).
import { answerOf } from '../../console/access/own-values.ts'
import { at, filteredAt, type ConsolePart } from '../../console/console-part.ts'
import { behindOf, behindPage, behindShape } from './pages/behind.ts'
import { changeList, changeProjects } from './pages/change-columns.ts'
import { changesOf, changesShape } from './pages/change-figures.ts'
import { changesPage } from './pages/changes.ts'
import { environmentsOf, environmentsShape } from './pages/environment-figures.ts'
import { environmentsPage } from './pages/environments.ts'
import { get } from '../../console/api/api-route.ts'
import { scopedQuery, sortBy } from '../../console/api/api-queries.ts'
import { sourcesOf as sourcesWith, type DeploymentSources, type Shared } from './pages/sources.ts'
import { countBehindWith } from './count-behind.ts'
import { deploymentReads, type ShownDeployment } from './sql/deployment-reads.ts'
import { productionBy, type IsProduction } from './model/deployment.ts'
import { z } from 'zod'
import type { DeploymentOptions } from './options.ts'
import type { TimelineItem, TimelinePart } from '../../console/timeline/timeline-part.ts'
import type { PagesParts } from '../../console/ports.ts'
import type { PartContext } from '../../daemon/feature.ts'

const behindQuery = z.object({
  environment: z.string().min(1),
  instance: z
    .string()
    .optional()
    .describe('Base URL of the platform; needed if several platforms have a project with this ID.'),
})

export function deploymentsConsole(
  { production }: DeploymentOptions,
  context: Pick<PartContext, 'tokens' | 'clock'>,
): ConsolePart {
  const isProduction = productionBy(production)
  let countBehind: Shared['countBehind']
  const sourcesOf = (parts: PagesParts): DeploymentSources =>
    sourcesWith(parts, { isProduction, countBehind: (countBehind ??= countBehindWith(context)) })
  return {
    links: [
      { group: 'What changed', link: ['/environments', 'Environments', 'scoped'] },
      { group: 'What changed', link: ['/changes', 'Changes', 'scoped'] },
    ],
    timeline: deploymentsOnTimeline(isProduction),
    pages: (parts, settings) => [
      filteredAt(parts, '/changes', async (context, own) => changesPage(sourcesOf(own), context)),
      filteredAt(parts, '/environments', async (context, own) => environmentsPage(sourcesOf(own), settings, context)),
      at('/environments/behind/:projectId', async (context, asked) => {
        const environment = context.query.get('environment')
        return environment === null ? undefined : behindPage(sourcesOf(parts), { ...asked, environment }, context)
      }),
    ],
    routes: (parts, settings) => [
      get(
        '/environments',
        'What is deployed where, deployment frequency, lead time and failures, and the latest deployments, for all projects or one.',
        { query: scopedQuery, answer: environmentsShape },
        async asked =>
          answerOf(parts, asked.own, async own => environmentsOf(sourcesOf(own), settings, asked, own.now())),
      ),
      get(
        '/environments/behind/:projectId',
        'How many commits the deployed revision is behind the default branch. Sends one request to the platform; requires the platform API to be configured.',
        { query: behindQuery, answer: behindShape },
        async asked => behindOf(sourcesOf(parts), asked),
      ),
      get(
        '/changes',
        'Changes (merge requests): times to merge, to first approval and to first pipeline, and the latest changes, for all projects or one.',
        { query: scopedQuery.extend({ sort: sortBy(changeProjects.keys, changeList.keys) }), answer: changesShape },
        async asked => answerOf(parts, asked.own, async own => changesOf(sourcesOf(own), asked, own.now())),
      ),
    ],
  }
}

function deploymentsOnTimeline(isProduction: IsProduction): TimelinePart {
  return {
    kind: 'deployment',
    items: async (reads, within) =>
      (await reads.on(deploymentReads).list(within)).map(one => deploymentItem(one, isProduction(one.view))),
  }
}

function deploymentItem({ deployment, view, at, figures }: ShownDeployment, isProduction: boolean): TimelineItem {
  const { instance, project, jobId, job } = deployment
  // An environment named "production" is obviously a production environment, so the title does not mark it as one.
  const mark = isProduction && view.environment !== 'production' ? ' (production)' : ''
  const to = view.environment === undefined ? '' : ` to ${view.environment}${mark}`
  return {
    ...{ kind: 'deployment', at, instance, project: project.path, user: view.user },
    title: `Deployment${to}: ${view.status}${figures?.isRollback === true ? ', a rollback' : ''}`,
    isBad: view.outcome === 'failed',
    isProduction,
    ...{ projectId: project.id, pipelineId: job?.span.pipelineId, jobId },
  }
}
