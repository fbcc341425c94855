// The attributes that say where a job ran. They are on what is read of its log, because its span is exported before.
import type { AttributeRow } from './row.ts'
import type { RanOn } from '../../model/inside.ts'
import { ATTR_HOST_NAME, ATTR_K8S_NODE_NAME, ATTR_K8S_POD_NAME } from './semconv.ts'

export interface RanOnSubject {
  readonly ranOn?: RanOn | undefined
}

const recurs = 'ran on'

// prettier-ignore
export const ranOnAttributes: readonly AttributeRow<RanOnSubject>[] = [
  { keys: [ATTR_HOST_NAME], recurs, type: 'string', when: 'the head of the log says it',
    note: 'the machine that the job ran on, from the line `Running on NAME via HOST...`: NAME for the executors `shell`, `ssh`, `virtualbox`, `parallels`, `instance` and `custom`, whose script prints its own hostname; otherwise HOST, the hostname of the runner, which for `docker` is on the machine of the containers (unless the runner is in a container itself). Absent for `kubernetes`, `docker+machine` and `docker-autoscaler`, whose logs name the container and the runner only',
    value: ({ ranOn }) => ranOn?.host },
  { keys: [ATTR_K8S_POD_NAME], recurs, type: 'string', when: 'the executor is `kubernetes`', note: 'from the line `Waiting for pod`, otherwise NAME', value: ({ ranOn }) => ranOn?.pod },
  { keys: [ATTR_K8S_NODE_NAME], recurs, type: 'string', when: "the log has the pod's events", note: 'the runner prints them with `FF_PRINT_POD_EVENTS`', value: ({ ranOn }) => ranOn?.node },
]
