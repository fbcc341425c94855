// The webhooks that make up a load: finished pipelines one after another, or all events that a platform sends about many concurrent pipelines.
import { finishedPipeline, jobEvent, oneOf, pipelineEvent, type Template } from './payload.ts'
import { plansOf } from './plans.ts'
import type { Hook } from './load.ts'

/** Generates webhooks that each report a finished pipeline with this number of jobs. */
export function finishes(jobs: number, first = 0): () => Hook {
  const template = finishedPipeline(jobs)
  let pipeline = first
  return () => ({ event: 'Pipeline Hook', template, pipeline: pipeline++, isFinish: true })
}

/** The number of concurrent pipelines. */
const atOnce = 50
/** The number of pipeline events per pipeline, including the one that reports its finish. */
const pipelineEvents = 8

/**
 * Generates the events of pipelines with 20 jobs from creation to finish: eight pipeline events, and the events created, running and finished for
 * each job. The running pipelines have progressed to different degrees, so finishes are sent at a steady rate.
 */
export function platformMix(): () => Hook {
  const life = lifeOf(20)
  let sent = 0
  return () => {
    const slot = sent % atOnce
    const step = Math.floor(sent / atOnce) + Math.floor((slot * life.length) / atOnce)
    sent += 1
    const event = life[step % life.length]
    if (event === undefined) throw new RangeError('a life has no such step')
    return { ...event, pipeline: Math.floor(step / life.length) * atOnce + slot }
  }
}

/** Returns all events of one pipeline, in order. */
function lifeOf(jobs: number): Omit<Hook, 'pipeline'>[] {
  const plans = plansOf('twenty', 16)
  const ofPipeline = (progress: number): Omit<Hook, 'pipeline'> => ({
    event: 'Pipeline Hook',
    template: oneOf(plans.map(plan => pipelineEvent(plan, progress))),
    isFinish: progress === 1,
  })
  const ofJob = (job: number, state: 'created' | 'running' | 'finished'): Omit<Hook, 'pipeline'> => {
    const template: Template = oneOf(plans.map(plan => jobEvent(plan, job, state)))
    return { event: 'Job Hook', template, isFinish: false }
  }
  const all = Array.from({ length: jobs }, (_, job) => job)
  const life = [ofPipeline(0), ...all.map(job => ofJob(job, 'created'))]
  for (const job of all) {
    // The pipeline events are spread over the jobs, because a platform sends one whenever the status or a stage changes.
    const reports =
      Math.floor(((job + 1) * (pipelineEvents - 2)) / jobs) - Math.floor((job * (pipelineEvents - 2)) / jobs)
    life.push(ofJob(job, 'running'), ...(reports > 0 ? [ofPipeline((job + 0.5) / jobs)] : []), ofJob(job, 'finished'))
  }
  return [...life, ofPipeline(1)]
}
