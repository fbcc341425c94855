// The page of environments: what is deployed where, since when and by whom; deployment metrics; incidents; the latest deployments.
import { addressWith } from '../../../console/layout/address.ts'
import {
  environmentsOf,
  type EnvironmentFigures,
  type Environments,
  type ListedDeployment,
  type IncidentSummary,
} from './environment-figures.ts'
import { keyColumns } from './four-keys.ts'
import { groupCards } from '../../../console/layout/groups.ts'
import { card, empty, howCounted, type Page, type RequestContext } from '../../../console/layout/frame.ts'
import { duration, figure, number, shortSha, since } from '../../../console/layout/format.ts'
import { html, pathText, type Html } from '../../../console/layout/html.ts'
import { badge } from '../../../console/layout/status.ts'
import { keyCharts } from './key-charts.ts'
import { jobLink } from '../../../console/pipelines/run-rows.ts'
import { askedScope, scopeAddress, scopeHeading } from '../../../console/layout/scope-heading.ts'
import { ages, figures, sortedTable, texts, type ShownColumn } from '../../../console/layout/sorting.ts'
import { spans } from '../../../console/layout/trend-spans.ts'
import type { PagesSettings } from '../../../console/ports.ts'
import type { DeploymentSources } from './sources.ts'

/** How many environments and deployments are read. */
const maxRows = 100
/** Rows of the latest deployments. */
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
  return {
    title: 'Environments',
    content: html`${await scopeHeading({ title: 'Environments', path: '/environments' }, asked, parts, context)}
    ${card(
      'What is deployed',
      environments.length === 0
        ? empty(
            'No deployment is known yet: no deployment event has arrived, and no job with an environment has succeeded.',
          )
        : deployedTable(environments, found, context, parts.countBehind !== undefined),
    )}
    ${card(
      `Deployment metrics: the last ${spans[asked.span].name}`,
      environments.length === 0
        ? empty('Nothing was deployed.')
        : html`${keyCharts(found.overTime, found, context)} ${keysTable(environments, found, context)} ${definitions}`,
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
    ${incidents.length > 0 && card(`Incidents: the last ${spans[asked.span].name}`, html`${incidentsTable(incidents, context)} ${aboutIncidents}`)}
    ${card(
      'Latest deployments',
      deployments.length === 0
        ? empty(`Nothing was deployed in the last ${spans[asked.span].name}.`)
        : deploymentsTable(deployments, found, context),
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
  html`An incident is an issue of that type (<code>issue</code> in <code>PIPESPAN_EVENTS</code>), of a project and not
    of an environment. Time to restore is the median from opening to end, of those opened within the time that have
    ended. DORA also counts incidents per successful production deployment; both are shown.`,
)

function incidentsTable(incidents: readonly IncidentSummary[], context: RequestContext): Html {
  const columns: Record<string, ShownColumn<IncidentSummary>> = {
    project: texts('Project', ({ project }) => project, pathText),
    opened: figures('Opened', ({ opened }) => opened, number),
    open: {
      head: 'Open now',
      of: ({ open }) => open,
      cell: ({ open }) => (open > 0 ? html`<span class="figure bad-text">${number(open)}</span>` : figure('0')),
    },
    restore: figures('Time to restore', ({ restored }) => restored, duration),
    each: figures(
      'Per deployment',
      ({ perDeployment }) => perDeployment,
      ratio => ratio?.toFixed(2) ?? '–',
    ),
  }
  return sortedTable('Incidents', columns, incidents, context)
}

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
    job: { head: 'Job', cell: ({ current = {} }) => jobLink(context.base, current) ?? '–' },
    ...(asks && {
      behind: {
        head: 'Behind',
        cell: (one: EnvironmentFigures) => (one.current === undefined ? '–' : behindLink(one, context)),
      },
    }),
  }
  return sortedTable('What is deployed', columns, environments, context)
}

/** A link, because the answer needs a request to the platform. */
function behindLink({ instance, projectId, project, environment }: EnvironmentFigures, { base }: RequestContext): Html {
  return html`<a
    href="${addressWith(`${base}/environments/behind/${projectId}`, { environment, instance })}"
    title="Asks the platform"
    aria-label="How far? ${environment} of ${project}"
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

function deploymentsTable(
  deployments: readonly ListedDeployment[],
  found: Environments,
  context: RequestContext,
): Html {
  const tookOf = ({ startedAt, finishedAt }: ListedDeployment): number | undefined =>
    startedAt === undefined || finishedAt === undefined ? undefined : finishedAt - startedAt
  const columns: Record<string, ShownColumn<ListedDeployment>> = {
    at: ages('When', ({ at }) => at, context),
    environment: {
      head: 'Environment',
      of: ({ environment }) => environment,
      cell: one => place({ ...one, environment: one.environment ?? '' }, found, context),
    },
    status: {
      head: 'Status',
      of: ({ status }) => status,
      cell: ({ status, isRollback }) =>
        html`${badge(status)}${isRollback === true && html`<br /><span class="dim">a rollback</span>`}`,
    },
    revision: {
      head: 'Revision',
      cell: ({ revision }) => html`<code title="${revision}">${shortSha(revision)}</code>`,
    },
    user: texts('By', ({ user }) => user),
    took: figures('Took', tookOf, duration),
    job: { head: 'Job', cell: one => jobLink(context.base, one) ?? '–' },
  }
  const shown = deployments.slice(0, maxDeployments)
  return html`${sortedTable('Latest deployments', columns, shown, context)}
  ${deployments.length > shown.length && html`<p class="dim">The newest ${shown.length}.</p>`}`
}

function environmentColumn(found: Environments, context: RequestContext): ShownColumn<EnvironmentFigures> {
  return { head: 'Environment', of: ({ environment }) => environment, cell: one => place(one, found, context) }
}

/** The environment, with its project if all projects are shown. */
function place(
  {
    environment,
    tier,
    isProduction,
    project,
  }: Pick<EnvironmentFigures, 'environment' | 'tier' | 'isProduction' | 'project'>,
  { span, project: chosen }: Environments,
  { base }: RequestContext,
): Html {
  const kinds = new Set([...(tier === undefined ? [] : [tier]), ...(isProduction ? ['production'] : [])])
  const notes = [...kinds].filter(kind => kind !== environment)
  return html`<span class="name"
    >${environment}${notes.length > 0 && html` <span class="dim">(${notes.join(', ')})</span>`}${
      chosen === undefined &&
      html`<br /><span class="dim"
          ><a href="${scopeAddress(`${base}/environments`, { span, project })}">${pathText(project)}</a></span
        >`
    }</span
  >`
}
