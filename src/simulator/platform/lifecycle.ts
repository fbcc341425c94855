// Simulates how pipelines proceed: which jobs start when, which jobs a failure stops, and the effects of retrying and canceling.
//
//   job       created ─► pending ─► running ─► success | failed | canceled
//                │ └─► manual ─(played)─► pending
//                └─► skipped ─(pipeline retried)─► created      a failed or canceled job is retried under a new id,
//                                                               a skipped job under its own, a bridge is reset under its own
//   pipeline  computed from its latest jobs (`compositeStatus`); every change is published
import {
  compositeStatus,
  isOver,
  latestJobs,
  type PlatformState,
  type SimJob,
  type SimPipeline,
  type SimStatus,
  type JobPlan,
  type PipelinePlan,
} from './state.ts'
import { commitMessage, runnerFor } from './world.ts'
import type { Random } from './random.ts'
import type { Timeline } from './timeline.ts'

/** A change that a webhook reports. */
export interface News {
  readonly kind: 'pipeline' | 'job'
  readonly at: number
  readonly pipeline: SimPipeline
  /** The job that a job event is about. */
  readonly job?: SimJob | undefined
}

/** The failure reasons after which the platform retries a job automatically, if the job is configured to be retried. */
const systemFailures = new Set(['runner_system_failure', 'stuck_or_timeout_failure', 'api_failure'])

export class Lifecycle {
  readonly state: PlatformState
  readonly timeline: Timeline
  readonly #random: Random
  readonly #publish: (news: News) => void

  /** `publish` is called for every change that a webhook would report. At that time nothing else has changed yet. */
  constructor(state: PlatformState, timeline: Timeline, random: Random, publish: (news: News) => void) {
    this.state = state
    this.timeline = timeline
    this.#random = random
    this.#publish = publish
  }

  /** Creates a pipeline, which starts a moment later. */
  create(plan: PipelinePlan, trigger?: SimPipeline['trigger']): SimPipeline {
    const { state, timeline } = this
    const random = this.#random
    const sameCommit = trigger !== undefined && plan.source === 'parent_pipeline'
    const iid = state.iid(plan.project.id)
    const pipeline: SimPipeline = {
      id: state.pipelineId(),
      iid,
      plan,
      project: plan.project,
      user: trigger?.pipeline.user ?? plan.user,
      ref: sameCommit ? trigger.pipeline.ref : plan.ref,
      sha: sameCommit ? trigger.pipeline.sha : random.hex(40),
      beforeSha: plan.source === 'push' && plan.tag !== true ? random.hex(40) : '0'.repeat(40),
      commitMessage: sameCommit ? trigger.pipeline.commitMessage : plan.commitMessage,
      mergeRequest: plan.source === 'merge_request_event' ? this.#mergeRequest(plan, iid) : undefined,
      trigger,
      createdAt: timeline.now,
      status: 'created',
      startedAt: undefined,
      finishedAt: undefined,
      updatedAt: timeline.now,
      jobs: [],
      history: [{ at: timeline.now, status: 'created' }],
    }
    state.pipelines.set(pipeline.id, pipeline)
    for (const job of plan.jobs) this.#addJob(pipeline, job)
    timeline.after(random.between(0.4, 1.5), () => this.#process(pipeline))
    return pipeline
  }

  /** Retries the failed and canceled jobs of a pipeline, and resets the jobs that were skipped because of them. */
  retry(pipeline: SimPipeline): void {
    for (const job of latestJobs(pipeline)) {
      if (job.status === 'skipped') this.#turn(pipeline, job, 'created')
      if (job.status !== 'failed' && job.status !== 'canceled') continue
      if (job.downstream === undefined) this.#addJob(pipeline, job.plan, job)
      else if (isOver(job.downstream.status)) this.retry(job.downstream)
    }
    this.#resetTrigger(pipeline)
    this.#process(pipeline)
  }

  /** Cancels all jobs of a pipeline that have not finished. */
  cancel(pipeline: SimPipeline): void {
    for (const job of latestJobs(pipeline)) {
      if (isOver(job.status)) continue
      if (job.downstream !== undefined) this.cancel(job.downstream)
      if (!isOver(job.status)) this.#turn(pipeline, job, 'canceled')
    }
    this.#process(pipeline)
  }

  /** Creates a newer pipeline for the same ref, and cancels this pipeline because of it. */
  supersede(pipeline: SimPipeline): void {
    this.create({ ...pipeline.plan, acts: [] })
    this.cancel(pipeline)
  }

  /** Starts the manual jobs of a pipeline. */
  play(pipeline: SimPipeline): void {
    for (const job of latestJobs(pipeline)) if (job.status === 'manual') this.#enqueue(pipeline, job)
    this.#process(pipeline)
  }

  #addJob(pipeline: SimPipeline, plan: JobPlan, replaced?: SimJob): SimJob {
    if (replaced !== undefined) replaced.retried = true
    const job: SimJob = {
      id: this.state.jobId(),
      plan,
      kind: plan.triggers === undefined ? 'job' : 'bridge',
      createdAt: this.timeline.now,
      status: 'created',
      retried: false,
      user: pipeline.user,
      queuedAt: undefined,
      startedAt: undefined,
      finishedAt: undefined,
      runner: undefined,
      failureReason: undefined,
      coverage: undefined,
      artifactsSize: undefined,
      downstream: undefined,
      history: [{ at: this.timeline.now, status: 'created' }],
    }
    pipeline.jobs.push(job)
    this.#publishJob(pipeline, job)
    return job
  }

  /** Starts or skips the pipeline's jobs that are due, then updates the status of the pipeline. */
  #process(pipeline: SimPipeline): void {
    for (const stage of pipeline.plan.stages) {
      const before = compositeStatus(this.#jobsBefore(pipeline, stage))
      const first = pipeline.plan.stages[0] === stage
      if (!first && !isOver(before)) break
      const wentWell = first || before === 'success' || before === 'skipped'
      for (const job of latestJobs(pipeline)) {
        if (job.plan.stage === stage && job.status === 'created') this.#decide(pipeline, job, wentWell)
      }
    }
    this.#follow(pipeline)
  }

  #jobsBefore(pipeline: SimPipeline, stage: string): SimJob[] {
    const earlier = pipeline.plan.stages.slice(0, pipeline.plan.stages.indexOf(stage))
    return latestJobs(pipeline).filter(({ plan }) => earlier.includes(plan.stage))
  }

  #decide(pipeline: SimPipeline, job: SimJob, wentWell: boolean): void {
    const when = job.plan.when ?? 'on_success'
    const runs = when === 'always' || wentWell !== (when === 'on_failure')
    if (!runs) this.#turn(pipeline, job, 'skipped')
    else if (when === 'manual') this.#turn(pipeline, job, 'manual')
    else this.#enqueue(pipeline, job)
  }

  #enqueue(pipeline: SimPipeline, job: SimJob): void {
    job.queuedAt = this.timeline.now
    this.#turn(pipeline, job, 'pending')
    this.timeline.after(this.#random.between(0.8, 9), () => this.#start(pipeline, job))
  }

  #start(pipeline: SimPipeline, job: SimJob): void {
    if (job.status !== 'pending') return
    job.startedAt = this.timeline.now
    const { triggers, tags, seconds } = job.plan
    if (triggers === undefined) job.runner = runnerFor(tags, this.#random)
    this.#turn(pipeline, job, 'running')
    this.#follow(pipeline)
    if (triggers !== undefined) {
      this.#trigger(pipeline, job, triggers.plan, triggers.depend)
      return
    }
    this.timeline.after(this.#random.between(...seconds), () => {
      if (job.status !== 'running') return
      const reason = this.#fate(pipeline, job)
      this.#finish(pipeline, job, reason)
    })
  }

  /** Returns the reason why this run of the job fails according to its plan, or undefined if it succeeds. */
  #fate(pipeline: SimPipeline, job: SimJob): string | undefined {
    const runsBefore = pipeline.jobs.filter(({ id, plan, startedAt }) => {
      return plan.name === job.plan.name && id < job.id && startedAt !== undefined
    }).length
    return job.plan.fails?.[runsBefore]
  }

  #finish(pipeline: SimPipeline, job: SimJob, failure: string | undefined): void {
    const { coverage, artifacts, retries = 0 } = job.plan
    job.failureReason = failure
    if (failure === undefined && coverage === true) job.coverage = Math.round(this.#random.between(780, 930)) / 10
    if (failure === undefined && artifacts === true) job.artifactsSize = this.#random.whole(40_000, 90_000_000)
    this.#turn(pipeline, job, failure === undefined ? 'success' : 'failed')
    const tries = pipeline.jobs.filter(({ plan }) => plan.name === job.plan.name).length
    if (failure !== undefined && systemFailures.has(failure) && tries <= retries) {
      this.#addJob(pipeline, job.plan, job)
    }
    this.#process(pipeline)
  }

  #trigger(pipeline: SimPipeline, bridge: SimJob, plan: PipelinePlan, depend: boolean): void {
    bridge.downstream = this.create(plan, { pipeline, bridge })
    if (depend) return
    this.#turn(pipeline, bridge, 'success')
    this.#process(pipeline)
  }

  /** A bridge that waits for its downstream pipeline runs again when that pipeline is retried. */
  #resetTrigger(pipeline: SimPipeline): void {
    const { trigger } = pipeline
    if (trigger?.bridge.plan.triggers?.depend !== true || !isOver(trigger.bridge.status)) return
    const { pipeline: parent, bridge } = trigger
    bridge.startedAt = this.timeline.now
    bridge.finishedAt = undefined
    bridge.failureReason = undefined
    this.#turn(parent, bridge, 'running')
    for (const job of latestJobs(parent)) if (job.status === 'skipped') this.#turn(parent, job, 'created')
    this.#resetTrigger(parent)
    this.#process(parent)
  }

  /**
   * Updates the status of a pipeline from its jobs. If the status has changed, the change is published, and users and a waiting bridge react to it.
   */
  #follow(pipeline: SimPipeline): void {
    const { now } = this.timeline
    const refused = pipeline.plan.yamlErrors !== undefined
    const status = refused ? 'failed' : compositeStatus(latestJobs(pipeline))
    if (status === pipeline.status) return
    pipeline.status = status
    pipeline.updatedAt = now
    pipeline.history.push({ at: now, status })
    if (status === 'running') pipeline.startedAt ??= now
    if (isOver(status) && status !== 'skipped') pipeline.finishedAt = now
    this.#publish({ kind: 'pipeline', at: now, pipeline })
    this.#act(pipeline)
    const { trigger } = pipeline
    if (!isOver(status) || trigger?.bridge.plan.triggers?.depend !== true || trigger.bridge.status !== 'running') return
    trigger.bridge.failureReason = status === 'failed' ? 'downstream_pipeline_failed' : undefined
    this.#turn(trigger.pipeline, trigger.bridge, status === 'skipped' ? 'success' : status)
    this.#process(trigger.pipeline)
  }

  #act(pipeline: SimPipeline): void {
    for (const act of pipeline.plan.acts ?? []) {
      const times = pipeline.history.filter(({ status }) => status === act.on).length
      if (act.on !== pipeline.status || times > 1) continue
      this.timeline.after(act.after, () => {
        if (pipeline.status === act.on) this[act.does](pipeline)
      })
    }
  }

  #turn(pipeline: SimPipeline, job: SimJob, status: SimStatus): void {
    const { now } = this.timeline
    job.status = status
    job.history.push({ at: now, status })
    pipeline.updatedAt = now
    if (status === 'success' || status === 'failed' || status === 'canceled') job.finishedAt = now
    this.#publishJob(pipeline, job)
  }

  /** Publishes a job change. The platform sends no job events for bridges, nor for the statuses skipped and manual. */
  #publishJob(pipeline: SimPipeline, job: SimJob): void {
    if (job.kind === 'bridge' || job.status === 'skipped' || job.status === 'manual') return
    this.#publish({ kind: 'job', at: this.timeline.now, pipeline, job })
  }

  #mergeRequest(plan: PipelinePlan, iid: number): NonNullable<SimPipeline['mergeRequest']> {
    const title = (plan.commitMessage || commitMessage(this.#random)).split('\n', 1)[0] ?? ''
    return {
      id: 88_000 + iid,
      iid: Math.floor(iid / 3),
      title: iid % 4 === 0 ? `Draft: ${title}` : title,
      sourceBranch: plan.ref,
      targetBranch: plan.project.defaultBranch,
    }
  }
}
