// The regression events and their attribute table. One event is exported when a regression is flagged, and one when it has ended.
import type { PlatformEvent } from '../../model/event.ts'
import { durationText } from '../../model/instant.ts'
import type { JobSpan, PipelineSpan } from '../../model/trace-context.ts'
import type { Regression, ShownRegression } from './documents.ts'

export const names = {
  detected: 'platform.cicd.regression.detected',
  resolved: 'platform.cicd.regression.resolved',
} as const

type Attribute = readonly [
  key: string,
  type: 'string' | 'int',
  note: string,
  of: (regression: Regression) => string | number | undefined,
]

const ofDuration = (value: (one: Regression) => number) => (one: Regression) =>
  one.kind === 'slower' ? Math.round(value(one)) : undefined
const ofShare = (value: (one: Regression) => number) => (one: Regression) =>
  one.kind === 'failing' ? Math.round(value(one) * 100) : undefined

/** The attributes of regression events. Prettier is off, because it would break each row into six lines. */
// prettier-ignore
export const attributes: readonly Attribute[] = [
  ['platform.cicd.regression.id', 'string', 'the ID of the regression, the same when it is detected and when it is resolved', one => one.id],
  ['platform.cicd.regression.kind', 'string', '`slower` or `failing`', one => one.kind],
  ['platform.cicd.regression.subject', 'string', 'what became worse, and what the figures apply to: `pipeline`, `job` or `section`', subjectOf],
  ['platform.cicd.regression.duration.before', 'int', 'median before the first bad run, ms; only if the kind is `slower`', ofDuration(one => one.before)],
  ['platform.cicd.regression.duration.after', 'int', 'median since the first bad run, ms; only if the kind is `slower`', ofDuration(one => one.after)],
  ['platform.cicd.regression.failures.before', 'int', '% of runs that failed before the first bad run; only if the kind is `failing`', ofShare(one => one.before)],
  ['platform.cicd.regression.failures.after', 'int', '% of runs that failed since the first bad run; only if the kind is `failing`', ofShare(one => one.after)],
  ['platform.cicd.regression.branch', 'string', 'branch class: `default`, `merge_request`, `tag` or `other`', one => one.branch],
  ['platform.cicd.regression.cause', 'string', 'what else changed with the first bad run', one => one.cause],
  ['cicd.pipeline.task.name', 'string', 'the job; absent if the subject is the pipeline', one => one.job || undefined],
  ['platform.cicd.pipeline.task.section.name', 'string', 'the section itself, or the section that explains the regression of its job, if sections are read', one => one.section],
  ['cicd.pipeline.run.id', 'string', 'ID of the first bad pipeline', one => String(one.first.pipelineId)],
  ['cicd.pipeline.task.run.id', 'string', 'ID of the first bad job', one => one.first.jobId === undefined ? undefined : String(one.first.jobId)],
  ['vcs.ref.head.revision', 'string', 'commit of the first bad run', one => one.first.sha],
  ['vcs.ref.head.name', 'string', 'branch or tag of the first bad run', one => one.first.ref],
  ['vcs.change.id', 'string', 'merge request of the first bad run', one => one.first.change === undefined ? undefined : String(one.first.change)],
  ['user.name', 'string', 'the user who started the first bad run', one => one.first.user],
  ['platform.cicd.regression.resolution', 'string', 'how the regression ended: `recovered`, or `settled` after it had lasted for four weeks; absent until then', one => one.resolved?.how],
]

function subjectOf({ job, ofSection }: ShownRegression): 'pipeline' | 'job' | 'section' {
  if (ofSection === true) return 'section'
  return job === '' ? 'pipeline' : 'job'
}

/** Returns undefined for `resolved` while the regression is not resolved. */
export function regressionEvent(regression: Regression, which: 'detected' | 'resolved'): PlatformEvent | undefined {
  const { instance, projectId, project, webUrl, id, resolved, flagged } = regression
  const over = which === 'resolved' ? resolved : undefined
  if (which === 'resolved' && over === undefined) return undefined
  const given = which === 'detected' ? { ...regression, resolved: undefined } : regression
  const key = `regression ${instance} ${projectId} ${id} ${which}`
  return {
    ...{ instance, kind: 'regression', name: names[which], severity: which === 'detected' ? 'warn' : 'info' },
    ...{ at: (over ?? flagged).at, body: bodyOf(given), object: key, key, content: key },
    attributes: Object.fromEntries(
      attributes.flatMap(([name, , , of]) => {
        const value = of(given)
        return value === undefined ? [] : [[name, value]]
      }),
    ),
    project: { id: projectId, path: project, webUrl },
    span: regression.span as JobSpan | PipelineSpan | undefined,
  }
}

/** The text of the event, such as `Job e2e takes 8 m 02 s, up from 5 m 00 s`. */
export function bodyOf(regression: ShownRegression): string {
  const { kind, job, section, before, after, resolved } = regression
  const subjects = { pipeline: 'The pipeline', job: `Job ${job}`, section: `Section ${section} of job ${job}` }
  const subject = subjects[subjectOf(regression)]
  const percent = (share: number): string => `${Math.round(share * 100)} %`
  if (resolved?.how === 'recovered') {
    return kind === 'slower'
      ? `${subject} is as fast as before again: ${durationText(before)}, after ${durationText(after)} for a while`
      : `${subject} is as reliable as before again: ${percent(before)} of its runs fail, after ${percent(after)} for a while`
  }
  const settled = resolved === undefined ? '' : '; this is the new normal'
  return kind === 'slower'
    ? `${subject} takes ${durationText(after)}, up from ${durationText(before)}${settled}`
    : `${subject} fails in ${percent(after)} of its runs, up from ${percent(before)}${settled}`
}
