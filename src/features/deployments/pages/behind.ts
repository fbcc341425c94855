// Shows how many commits an environment is behind the default branch. The request to the platform is sent only when a user opens the page.
import { addressWith } from '../../../console/layout/address.ts'
import { z } from 'zod'
import { millis, type Shaped } from '../../../console/layout/shape.ts'
import { card, crumbs, empty, type Page, type RequestContext } from '../../../console/layout/frame.ts'
import { counted, shortSha, since } from '../../../console/layout/format.ts'
import { html, safeUrl, type Content } from '../../../console/layout/html.ts'
import { needed, NotShown } from '../../../console/layout/not-shown.ts'
import { notShownPage } from '../../../console/access/entrance.ts'
import type { CountedBehind } from '../count-behind.ts'
import type { DeploymentSources } from './sources.ts'
import type { NamedEnvironment } from '../sql/deployment-reads.ts'

export const behindShape = z.object({
  project: z.string(),
  environment: z.string(),
  revision: z.string().optional(),
  deployedAt: millis.optional(),
  branch: z.string().optional().describe('The default branch.'),
  url: z.string().optional().describe('Where the platform shows the commits.'),
  answer: z.discriminatedUnion('as', [
    z.strictObject({
      as: z.literal('counted'),
      commits: z.number().describe('Commits of the branch that the deployed revision does not have.'),
      isAll: z.boolean().describe('False if the platform has more commits than were counted.'),
    }),
    z.strictObject({
      as: z.literal('refused').describe('The platform did not return the commits.'),
      what: z.string(),
      remedy: z.string(),
    }),
  ]) satisfies z.ZodType<CountedBehind>,
})
type EnvironmentBehind = Shaped<typeof behindShape>

/** Returns how many commits an environment is behind the default branch, or undefined if there is no such environment. */
export async function behindOf(
  { deployments, countBehind }: Pick<DeploymentSources, 'deployments' | 'countBehind'>,
  asked: NamedEnvironment,
): Promise<EnvironmentBehind | NotShown | undefined> {
  if (countBehind === undefined) {
    return NotShown.without('How far an environment is behind cannot be shown', [needed.platform])
  }
  const found = await deployments.currentOf(asked)
  if (found === undefined) return undefined
  const { projectId, environment } = asked
  const { deployment, view } = found
  const { defaultBranch: branch, path: project = '', webUrl } = deployment.project
  const { revision, finishedAt: deployedAt } = view
  const known = { project, environment, revision, deployedAt, branch }
  if (branch === undefined || revision === undefined) {
    const what = `The ${branch === undefined ? 'default branch of the project' : 'deployed revision'} is not known yet.`
    return { ...known, answer: { as: 'refused', what, remedy: 'The next deployment event will report it.' } }
  }
  const page = webUrl ?? (project === '' ? undefined : `${deployment.instance}/${project}`)
  const url = page === undefined ? undefined : `${page}/-/compare/${revision}...${encodeURIComponent(branch)}`
  const answer = await countBehind({ instance: deployment.instance, path: project, projectId, revision, branch })
  return { ...known, url, answer: answer.as === 'counted' ? answer : { ...answer, as: 'refused' } }
}

export async function behindPage(
  parts: Pick<DeploymentSources, 'deployments' | 'countBehind'>,
  asked: NamedEnvironment,
  context: RequestContext,
): Promise<Page | undefined> {
  const found = await behindOf(parts, asked)
  if (found === undefined) return undefined
  if (found instanceof NotShown) return notShownPage(found)
  const { base, now } = context
  const { project, environment, revision, deployedAt, answer } = found
  const link = answer.as === 'counted' && answer.commits > 0 ? safeUrl(found.url) : undefined
  return {
    title: `How far ${environment} is behind`,
    content: html`${crumbs(html`<a href="${addressWith(`${base}/environments`, { project })}">Environments</a>`, environment)}
      <div class="page-head"><h1>How far ${environment} is behind</h1></div>
      ${card(
        project,
        html`<p>${words(found)}</p>
          <p class="dim">
            ${revision !== undefined && html`<code title="${revision}">${shortSha(revision)}</code> was deployed ${since(deployedAt, now)}.`}
            Fetched from the platform just now.
          </p>
          ${link !== undefined && html`<p><a class="button" href="${link}" rel="noreferrer">See the commits on the platform</a></p>`}`,
      )}`,
  }
}

function words({ answer, branch = '' }: EnvironmentBehind): Content {
  if (answer.as === 'refused') return empty(`${answer.what} ${answer.remedy}`)
  if (answer.commits === 0) return html`It has all commits of <code>${branch}</code>.`
  return html`<strong>${counted(answer.commits, 'commit')}${!answer.isAll && ' or more'}</strong> behind
    <code>${branch}</code>.`
}
