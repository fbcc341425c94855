// The life of the simulated platform's merge requests: opened a little before their first pipeline; after a pipeline that passed,
// approved and merged, or now and then closed.
import { changePayload, type ChangeAction, type SimChange } from './change-payload.ts'
import { users } from './world.ts'
import type { Delivery } from './delivery.ts'
import type { News } from './lifecycle.ts'
import type { Random } from './random.ts'
import type { SimPipeline } from './state.ts'
import type { Timeline } from './timeline.ts'

/** Call it with the news of pipelines. `send` gets the events of their merge requests. */
export function createChanges(
  instance: string,
  timeline: Timeline,
  random: Random,
  send: (delivery: Delivery) => void,
): (news: News) => void {
  const changes = new Map<string, SimChange>()

  function emit(change: SimChange, pipeline: SimPipeline, action: ChangeAction): void {
    const at = timeline.now
    const user = action === 'open' ? pipeline.user : random.pick(users)
    const body = JSON.stringify(changePayload(change, { action, at, user }, instance))
    send({ kind: 'change', at, pipelineId: pipeline.id, jobId: undefined, key: random.uuid(), body })
  }

  function begin(pipeline: SimPipeline, name: string): void {
    const { mergeRequest, project } = pipeline
    if (mergeRequest === undefined) return
    const createdAt = timeline.now - random.whole(2, 90) * 1_000
    const change: SimChange = { ...mergeRequest, project, createdAt, state: 'opened' }
    changes.set(name, change)
    emit(change, pipeline, 'open')
  }

  /** After a pipeline that passed. */
  function end(change: SimChange, pipeline: SimPipeline): void {
    if (random.chance(0.8)) timeline.after(random.between(20, 60), () => emit(change, pipeline, 'approved'))
    timeline.after(random.between(90, 400), () => {
      if (change.state !== 'opened') return
      change.state = random.chance(0.9) ? 'merged' : 'closed'
      emit(change, pipeline, change.state === 'merged' ? 'merge' : 'close')
    })
  }

  return ({ kind, pipeline }) => {
    const { mergeRequest, project } = pipeline
    if (kind !== 'pipeline' || mergeRequest === undefined) return
    const name = `${project.id} ${mergeRequest.iid}`
    const change = changes.get(name)
    if (change === undefined) begin(pipeline, name)
    else if (pipeline.status === 'success' && change.state === 'opened') end(change, pipeline)
  }
}
