// Turns a finding into the document that is stored, and stored documents into the past for the next judgement. Pure.
import { hash } from 'node:crypto'
import type { Episode, Outcome, Subject } from './series.ts'
import type { Found, PastOf } from './judge-project.ts'
import type { LikelyCause } from './likely-cause.ts'
import type { Millis } from '../../model/instant.ts'
import type { Regression } from './documents.ts'

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

/** The document with how its finding was resolved, if it was. `resolvedAt`: when that was found out; default: when it was over. */
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

/** Whether it is about just this subject. */
export function isOf(one: Regression, { branch, job, section, kind }: Subject): boolean {
  const own = one.ofSection === true ? one.section : ''
  return one.branch === branch && one.job === job && one.kind === kind && own === section
}

/** The regressions of the subject itself. */
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
