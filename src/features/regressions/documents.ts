// The documents of regressions. A document is stored from when a regression is flagged until some months later. This file turns a finding into a
// document, and stored documents into the past findings from which the next judgement starts.
import { branchClasses } from '../../model/pipeline.ts'
import { documentKind } from '../../core/store/ports/repository.ts'
import { hash } from 'node:crypto'
import { isInScope } from '../../core/store/ports/project-scope.ts'
import { z } from 'zod'
import type { Episode, Outcome, Subject } from './series.ts'
import type { Found, PastOf } from './judge-project.ts'
import type { LikelyCause } from './likely-cause.ts'
import type { Millis } from '../../model/instant.ts'
import type { Reads } from '../../core/store/ports/reads.ts'
import type { Shaped } from '../../console/layout/shape.ts'

const times = z.object({ pipelineId: z.number(), at: z.number() })

export const regression = z.object({
  instance: z.string(),
  projectId: z.number(),
  /** The id of the regression, unique within the project: a digest of its subject and its first bad run. */
  id: z.string(),
  /** The full path of the project. */
  project: z.string(),
  webUrl: z.string().optional(),
  kind: z.enum(['slower', 'failing']),
  branch: z.enum(branchClasses),
  /** The name of the job; empty if the regression concerns the project's pipelines. */
  job: z.string(),
  /** The median before the change, ms; for `failing`, the share of failed runs. */
  before: z.number(),
  after: z.number(),
  /** The duration above which a run is slow, ms; 0 for `failing`. */
  limit: z.number(),
  runsBefore: z.number(),
  runsAfter: z.number(),
  /** The first bad run of the regression. */
  first: times.extend({
    /** The id of the run: the job's id, or a number made of the pipeline's id and attempt. */
    id: z.number(),
    attempt: z.number(),
    jobId: z.number().optional(),
    sha: z.string().optional(),
    ref: z.string().optional(),
    user: z.string().optional(),
    change: z.number().optional(),
    url: z.string().optional(),
  }),
  /** The run at which the regression became certain. */
  flagged: times,
  /** When the regression was flagged, by the store's clock. */
  flaggedAt: z.number(),
  /** The likely cause: a sentence about what else changed with the first bad run. */
  cause: z.string(),
  /** The section that became worse, or that explains the regression of its job. Only set if sections are read. */
  section: z.string().optional(),
  /** Set if the section itself has regressed. In that case, the document's figures apply to the section. */
  ofSection: z.literal(true).optional(),
  /** Other jobs that changed at the same time as the job of this regression. */
  also: z.array(z.string()),
  resolved: times.extend({ how: z.enum(['recovered', 'settled']), resolvedAt: z.number() }).optional(),
  /** The ids that identify the span of the first bad run. */
  span: z.record(z.string(), z.unknown()).optional(),
  /** Which of the regression's events were exported. */
  announced: z.object({ detected: z.boolean(), resolved: z.boolean() }),
})
export type Regression = z.infer<typeof regression>

/** `judge-loop.ts` writes these documents. */
export const foundRegressions = documentKind('regression', regression, ['instance', 'projectId', 'id'], {
  about: ({ instance, projectId, project }) => ({ instance, projectId, paths: [project] }),
})

/** A regression in the form that pages and the JSON API show. */
export const regressionShape = regression.omit({ span: true, announced: true })
export type ShownRegression = Shaped<typeof regressionShape>

export function shown({ span: _, announced: __, ...one }: Regression): ShownRegression {
  return one
}

export const regressionsShape = z.object({ regressions: z.array(regressionShape) })

interface AskedRegressions {
  /** Limits the list to one instance, because projects of several instances may have the same ID. */
  readonly instance?: string | undefined
  readonly projectId?: number | undefined
  /** The group whose projects are listed: a path that ends with a slash. */
  readonly group?: string | undefined
  /** The job whose regressions are listed. If undefined, regressions of pipelines and all jobs are listed; if empty, only those of pipelines. */
  readonly job?: string | undefined
  /** Regressions that were resolved before this time are left out. */
  readonly since?: Millis | undefined
}

/** Returns unresolved regressions, then resolved ones, each group with the newest first. */
export async function regressionsOf(
  { repositories }: { readonly repositories: Pick<Reads['repositories'], 'of'> },
  { instance, projectId, group, job, since = 0 }: AskedRegressions,
): Promise<ShownRegression[]> {
  const all = await repositories.of(foundRegressions).all()
  return all
    .filter(one => projectId === undefined || one.projectId === projectId)
    .filter(one => instance === undefined || one.instance === instance)
    .filter(({ project }) => isInScope(project, group))
    .filter(one => job === undefined || one.job === job || one.also.includes(job))
    .filter(({ resolved }) => resolved === undefined || resolved.at >= since)
    .map(shown)
    .sort((a, b) => Number(a.resolved !== undefined) - Number(b.resolved !== undefined) || b.first.at - a.first.at)
}

export function documentOf(
  { main, also }: { readonly main: Found; readonly also: readonly string[] },
  { cause, section }: LikelyCause,
  flaggedAt: Millis,
): Regression | undefined {
  const { kind, branch, job, section: own, episode, since } = main
  const [first] = since
  if (first === undefined) return undefined
  const { of, outcome, snapshot } = first
  const { key, project, attempt, trace, sha, ref, user, change, url } = of
  const its = { trace, pipelineId: key.pipelineId }
  return {
    ...{ instance: key.instance, projectId: project.id, kind, branch, job, cause, flaggedAt },
    id: hash('sha256', [branch, job, kind, outcome.id, ...(own === '' ? [] : [own])].join('\n'), 'hex').slice(0, 16),
    project: project.path ?? project.name ?? String(project.id),
    webUrl: project.webUrl,
    ...{ before: episode.before, after: episode.after, limit: episode.limit },
    ...{ runsBefore: episode.runs.before, runsAfter: episode.runs.after, also: also.slice(0, maxNamed) },
    ...(own === '' ? { section } : { section: own, ofSection: true }),
    first: {
      ...{ pipelineId: key.pipelineId, at: outcome.at, id: outcome.id, attempt },
      ...{ jobId: snapshot?.id, sha, ref, user, change, url },
    },
    flagged: { pipelineId: pipelineOf(main, episode.flagged) ?? key.pipelineId, at: episode.flagged.at },
    span:
      snapshot === undefined
        ? { ...its, attempt }
        : { ...its, jobId: snapshot.id, kind: snapshot.kind, salt: snapshot.salt },
    announced: { detected: false, resolved: false },
  }
}

const maxNamed = 20

/**
 * Adds the finding's resolution to the document, if it was resolved. `resolvedAt` is when the resolution was noticed; it defaults to the end of the
 * regression.
 */
export function withResolution(document: Regression, found: Found, resolvedAt?: Millis): Regression {
  const { resolved } = found.episode
  if (resolved === undefined) return document
  const { at } = resolved.by
  const pipelineId = pipelineOf(found, resolved.by) ?? document.flagged.pipelineId
  return { ...document, resolved: { pipelineId, at, how: resolved.how, resolvedAt: resolvedAt ?? at } }
}

function pipelineOf({ before, since }: Found, { id }: Outcome): number | undefined {
  return [...before, ...since].find(({ outcome }) => outcome.id === id)?.of.key.pipelineId
}

/** Whether the regression has exactly this subject. */
export function isOf(one: Regression, { branch, job, section, kind }: Subject): boolean {
  const own = one.ofSection === true ? one.section : ''
  return one.branch === branch && one.job === job && one.kind === kind && own === section
}

export function pastOf(regressions: readonly Regression[]): PastOf {
  return subject => {
    const own = regressions.filter(one => isOf(one, subject))
    const open = own.find(({ resolved }) => resolved === undefined)
    return { open: open && episodeOf(open), over: own.filter(({ resolved }) => resolved).map(episodeOf) }
  }
}

function episodeOf({
  kind,
  before,
  after,
  limit,
  runsBefore,
  runsAfter,
  first,
  flagged,
  resolved,
}: Regression): Episode {
  const outcome = (id: number, at: Millis): Outcome => ({ id, at, tookMs: after, failed: kind === 'failing' })
  return {
    ...{ kind, before, after, limit, runs: { before: runsBefore, after: runsAfter } },
    first: outcome(first.id, first.at),
    flagged: outcome(flagged.pipelineId, flagged.at),
    resolved: resolved && { by: outcome(resolved.pipelineId, resolved.at), how: resolved.how },
  }
}
