// The attributes that several things have which are read about a job after its span was exported: which job it was, and where it ran.
import type { AttributeRow } from './row.ts'
import type { InsideJob, RanOn } from '../../../model/inside.ts'
import {
  ATTR_CICD_PIPELINE_TASK_NAME,
  ATTR_CICD_PIPELINE_TASK_RUN_ID,
  ATTR_HOST_NAME,
  ATTR_K8S_NODE_NAME,
  ATTR_K8S_POD_NAME,
} from './semconv.ts'

export interface OfJob {
  readonly job: InsideJob
}

export const runId: AttributeRow<OfJob> = {
  keys: [ATTR_CICD_PIPELINE_TASK_RUN_ID],
  type: 'string',
  when: 'always',
  value: ({ job }) => String(job.id),
}
export const taskName: AttributeRow<OfJob> = {
  keys: [ATTR_CICD_PIPELINE_TASK_NAME],
  recurs: true,
  type: 'string',
  when: 'always',
  value: ({ job }) => job.name ?? '',
}

/** The event name of the log record of a job's dotenv report, and the prefix of each key. */
export const dotenvEvent = 'platform.report.dotenv'
/** In addition to the allowed keys of the report. */
export const dotenvAttributes = [runId, taskName]

/** Those that are added to spans which a job made itself. */
export const ownSpanAttributes = [runId]

/** Something that is read of a job's log, whose head says where the job ran. */
export interface OfLog extends OfJob {
  readonly ranOn?: RanOn | undefined
}

const recurs = 'ran on'

// prettier-ignore
export const ranOnAttributes: readonly AttributeRow<OfLog>[] = [
  { keys: [ATTR_HOST_NAME], recurs, type: 'string', when: 'the head of the log says it',
    note: 'the machine that the job ran on, from the line `Running on NAME via HOST...`: NAME for the executors `shell`, `ssh`, `virtualbox`, `parallels`, `instance` and `custom`, whose script prints its own hostname; otherwise HOST, the hostname of the runner, which for `docker` is on the machine of the containers (unless the runner is in a container itself). Absent for `kubernetes`, `docker+machine` and `docker-autoscaler`, whose logs name the container and the runner only',
    value: ({ ranOn }) => ranOn?.host },
  { keys: [ATTR_K8S_POD_NAME], recurs, type: 'string', when: 'the executor is `kubernetes`', note: 'from the line `Waiting for pod`, otherwise NAME', value: ({ ranOn }) => ranOn?.pod },
  { keys: [ATTR_K8S_NODE_NAME], recurs, type: 'string', when: "the log has the pod's events", note: 'the runner prints them with `FF_PRINT_POD_EVENTS`', value: ({ ranOn }) => ranOn?.node },
]
