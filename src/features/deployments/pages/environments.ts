// The environments page: what is deployed to each environment, since when and by whom; deployment metrics; incidents; the latest deployments.
import { addressWith } from '../../../console/layout/address.ts'
import { environmentsOf, maxCounted, type EnvironmentFigures, type Environments } from './environment-figures.ts'
import { deploymentList, environmentName, incidentList } from './environment-columns.ts'
import { keyCharts, keyColumns } from './keys.ts'
import { groupCards } from '../../../console/layout/groups.ts'
import { card, empty, howCounted, type Page, type RequestContext } from '../../../console/layout/frame.ts'
import { minute, number, shortSha, since } from '../../../console/layout/format.ts'
import { html, type Html } from '../../../console/layout/html.ts'
import { jobLink } from '../../../console/pipelines/run-rows.ts'
import { askedScope, scopeAddress, scopeHeading } from '../../../console/layout/scope-heading.ts'
import { sortedTable, texts, type ShownColumn } from '../../../console/layout/sorting.ts'
import { spans } from '../../../console/layout/trend-spans.ts'
import type { PagesSettings } from '../../../console/ports.ts'
import type { DeploymentSources } from './sources.ts'

/** The maximum number of environments, and of deployments, that the page reads. */
const maxRows = 100
/** The maximum number of rows in the list of the latest deployments. */
const maxDeployments = 30

export async function environmentsPage(
  parts: Pick<DeploymentSources, 'deployments' | 'incidents' | 'isProduction' | 'views' | 'countBehind'>,
  settings: Pick<PagesSettings, 'groupBy'>,
  context: RequestContext,
): Promise<Page> {
  const asked = { ...askedScope(context.query), limit: maxRows }
  const found = await environmentsOf(parts, settings, asked, context.now)
  const { environments, incidents, deployments } = found
  const here = `${context.base}/environments`
  const reader = { ...context, span: found.span, project: found.project }
  return {
    title: 'Environments',
    content: html`${await scopeHeading({ title: 'Environments', path: '/environments' }, asked, parts, context)}
    ${card(
      'What is deployed',
      environments.length === 0
        ? empty(
            'No deployment is known yet: no deployment event has arrived, and no job with an environment has succeeded.',
          )
        : html`${deployedTable(environments, found, context, parts.countBehind !== undefined)}
          ${found.isCut && html`<p class="dim">The ${number(environments.length)} environments that were deployed last. To see others, choose a project.</p>`}`,
    )}
    ${card(
      `Deployment metrics: the last ${spans[asked.span].name}`,
      environments.length === 0
        ? empty('Nothing was deployed.')
        : html`${keyCharts(found.overTime, found, context)} ${keysTable(environments, found, context)}
          ${found.backTo !== undefined && html`<p class="dim">Only the newest ${number(maxCounted)} deployments are counted, back to ${minute(found.backTo)}.</p>`}
          ${definitions}`,
    )}
    ${groupCards(
      found,
      keyColumns(),
      {
        group: project => scopeAddress(here, { ...asked, project }),
        value: own => scopeAddress(here, { ...asked, own }),
      },
      context,
    )}
    ${incidents.length > 0 && card(`Incidents: the last ${spans[asked.span].name}`, html`${incidentList.draw('Incidents', incidents, context)} ${aboutIncidents}`)}
    ${card(
      'Latest deployments',
      deployments.length === 0
        ? empty(`Nothing was deployed in the last ${spans[asked.span].name}.`)
        : html`${deploymentList.draw('Latest deployments', deployments.slice(0, maxDeployments), reader)}
          ${deployments.length > maxDeployments && html`<p class="dim">The newest ${maxDeployments}.</p>`}`,
    )}`,
  }
}

const definitions = howCounted(
  html`Deployments are known from events or from jobs, and are counted some minutes after they ended. Per day:
    successful deployments only. Lead time is the median over all commits, from the commit (or as
    <code>PIPESPAN_LEAD_TIME</code> says) to the production deployment that contains it;
    <code>PIPESPAN_PRODUCTION</code> decides what is production. Failures are failed deployments and rollbacks, as a
    share of all deployments; a rollback deploys an earlier or older revision. Recovery is the median from the first
    failed deployment to the next successful one; for a rollback, measured from the deployment it reverted.`,
)

const aboutIncidents = howCounted(
  html`An incident is an issue of that type (<code>issue</code> in <code>PIPESPAN_EVENTS</code>). It belongs to a
    project, not to an environment. Time to restore is the median time from opening to end of the incidents that were
    opened in this period and have ended. DORA also counts incidents per successful production deployment; both are
    shown.`,
)

function deployedTable(
  environments: readonly EnvironmentFigures[],
  found: Environments,
  context: RequestContext,
  asks: boolean,
): Html {
  const columns: Record<string, ShownColumn<EnvironmentFigures>> = {
    environment: environmentColumn(found, context),
    revision: {
      head: 'Revision',
      cell: ({ current }) =>
        current === undefined ? '–' : html`<code title="${current.revision}">${shortSha(current.revision)}</code>`,
    },
    ref: texts('Ref', ({ current }) => current?.ref),
    at: {
      head: 'Since',
      of: ({ current }) => current?.finishedAt,
      cell: ({ current }) => (current === undefined ? 'never succeeded' : since(current.finishedAt, context.now)),
    },
    user: texts('By', ({ current }) => current?.user),
    job: { head: 'Job', cell: ({ current = {} }) => jobLink(current, context) ?? '–' },
    ...(asks && {
      behind: {
        head: 'Behind',
        cell: (one: EnvironmentFigures) => (one.current === undefined ? '–' : behindLink(one, context)),
      },
    }),
  }
  return sortedTable('What is deployed', columns, environments, context)
}

/** The page shows a link instead of the number of commits behind, because that number costs a request to the platform. */
function behindLink({ instance, projectId, project, environment }: EnvironmentFigures, { base }: RequestContext): Html {
  return html`<a
    href="${addressWith(`${base}/environments/behind/${projectId}`, { environment, instance })}"
    title="Sends a request to the platform"
    aria-label="How far is ${environment} of ${project} behind?"
    >How far?</a
  >`
}

function keysTable(environments: readonly EnvironmentFigures[], found: Environments, context: RequestContext): Html {
  const columns: Record<string, ShownColumn<EnvironmentFigures>> = {
    environment: environmentColumn(found, context),
    ...keyColumns<EnvironmentFigures>(),
  }
  return sortedTable('Deployment metrics', columns, environments, context)
}

function environmentColumn(found: Environments, context: RequestContext): ShownColumn<EnvironmentFigures> {
  return {
    head: 'Environment',
    of: ({ environment }) => environment,
    cell: one => environmentName(one, { ...context, span: found.span, project: found.project }),
  }
}
