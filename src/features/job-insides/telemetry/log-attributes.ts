// The attributes of the spans of log sections and of the records of log lines.
import { ATTR_HOST_NAME, ATTR_K8S_NODE_NAME, ATTR_K8S_POD_NAME } from '../../../core/telemetry/mapping/semconv.ts'
import { runId, taskName, type OfJob } from './job-attributes.ts'
import type { AttributeRow } from '../../../core/telemetry/mapping/row.ts'
import type { LogLine, RanOn, Section } from '../../../model/inside.ts'

/** A section or a line of a job's log. `ranOn` is the machine that the job ran on, as named in the first lines of the log. */
interface OfLog extends OfJob {
  readonly ranOn?: RanOn | undefined
}

const ranOn = 'ran on'

// prettier-ignore
const ranOnAttributes: readonly AttributeRow<OfLog>[] = [
  { keys: [ATTR_HOST_NAME], recurs: ranOn, type: 'string', when: 'the head of the log names it',
    note: 'the machine that the job ran on, from the line `Running on NAME via HOST...`: NAME for the executors `shell`, `ssh`, `virtualbox`, `parallels`, `instance` and `custom`, whose script prints its own hostname; otherwise HOST, the hostname of the runner, which for `docker` is on the machine of the containers (unless the runner is in a container itself). Absent for `kubernetes`, `docker+machine` and `docker-autoscaler`, whose logs name the container and the runner only',
    value: ({ ranOn }) => ranOn?.host },
  { keys: [ATTR_K8S_POD_NAME], recurs: ranOn, type: 'string', when: 'the executor is `kubernetes`', note: 'from the line `Waiting for pod`, otherwise NAME', value: ({ ranOn }) => ranOn?.pod },
  { keys: [ATTR_K8S_NODE_NAME], recurs: ranOn, type: 'string', when: "the log has the pod's events", note: 'the runner prints them with `FF_PRINT_POD_EVENTS`', value: ({ ranOn }) => ranOn?.node },
]

const recurs = true
const prefix = 'platform.cicd.pipeline.task.'

// prettier-ignore
export const sectionAttributes: readonly AttributeRow<OfLog & { readonly section: Section }>[] = [
  runId,
  { keys: [`${prefix}section.name`], recurs, type: 'string', when: 'always', value: ({ section }) => section.name },
  { keys: [`${prefix}section.title`], type: 'string', when: 'has one', note: 'one line; the text of a command is never exported', value: ({ section }) => section.title },
  { keys: [`${prefix}section.kind`], recurs, type: 'string', when: 'always', note: '`runner`, `script` or `custom`', value: ({ section }) => section.kind },
  { keys: [`${prefix}section.clock`], recurs, type: 'string', when: 'always', note: '`line`: the timestamps of the lines with its markers; `marker`: the numbers in its markers',
    value: ({ section }) => section.clock },
  { keys: [`${prefix}section.clock_shift`], type: 'int', when: "was moved into the job's times by more than a second", note: 'ms', value: ({ section }) => section.clockShift },
  ...ranOnAttributes,
]

/** Returns the span name of a section: the section's name if the runner defined it, otherwise the section's title, which is written for people. */
export function sectionSpanName({ kind, name, title }: Section): string {
  return (kind === 'runner' ? name : `section: ${title ?? name}`).toWellFormed()
}

/** Returns the section's name for metrics: the name of a section that the runner defined, otherwise `custom`. This bounds the number of series. */
export function sectionSeries({ kind, name }: Section): string {
  return kind === 'runner' ? name : 'custom'
}

// prettier-ignore
export const logLineAttributes: readonly AttributeRow<OfLog & { readonly line: LogLine }>[] = [
  { ...runId, recurs },
  taskName,
  { keys: ['log.iostream'], recurs, type: 'string', when: 'the line has a timestamp', note: '`stdout` or `stderr`', value: ({ line }) => line.stream },
  { keys: [`${prefix}section.name`], recurs, type: 'string', when: 'within a section', note: 'the innermost', value: ({ line }) => line.sectionName },
  { keys: [`${prefix}log.line`], type: 'int', when: 'always', note: 'from 1', value: ({ line }) => line.number },
  { keys: [`${prefix}log.time_estimated`], recurs, type: 'bool', when: 'the line has no timestamp, or an earlier one than a line before it', note: 'always true', value: ({ line }) => line.estimated },
  ...ranOnAttributes,
]
