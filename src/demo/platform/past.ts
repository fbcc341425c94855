// The simulated company's past days: three pipelines a day of one project, of which one job became slower two days ago. So the pages have
// usual durations, and a regression.
import { deliveryOf, type Delivery } from './delivery.ts'
import { isOver, type PlatformState } from './state.ts'
import { Lifecycle } from './lifecycle.ts'
import { projects, users } from './world.ts'
import { Random } from './random.ts'
import { Timeline } from './timeline.ts'
import type { PipelinePlan } from './plan.ts'

const hour = 3_600_000
/** A pipeline every eight hours; the last eight of them are slow. */
const pipelines = { every: 8 * hour, all: 36, slow: 8 }

export interface PastOptions {
  readonly state: PlatformState
  readonly instance: string
  /** When it ends, Unix ms. */
  readonly until: number
}

/** The webhooks of their ends, in order. They do not depend on what else is simulated. */
export function playPast({ state, instance, until }: PastOptions): Delivery[] {
  const random = new Random(3)
  const deliveries: Delivery[] = []
  for (let left = pipelines.all; left > 0; left -= 1) {
    const timeline = new Timeline(until - left * pipelines.every)
    const lifecycle = new Lifecycle(state, timeline, random, news => {
      if (news.kind === 'pipeline' && isOver(news.pipeline.status)) {
        deliveries.push(deliveryOf(news, { instance, newest: true }, random))
      }
    })
    lifecycle.create(figures(left <= pipelines.slow))
    timeline.runAll()
  }
  return deliveries
}

/** It is slow since somebody removed the tag of the large runner. */
function figures(isSlow: boolean): PipelinePlan {
  return {
    project: projects.reports,
    source: 'push',
    name: 'Figures',
    ref: projects.reports.defaultBranch,
    user: users[isSlow ? 3 : 2] ?? users[0],
    commitMessage: isSlow ? 'Any runner will do' : 'Count returns, too',
    stages: ['build', 'test', 'deploy'],
    jobs: [
      { name: 'load', stage: 'build', seconds: [55, 70], tags: ['linux', 'docker'] },
      {
        ...{ name: 'aggregate', stage: 'test', seconds: isSlow ? [520, 600] : [210, 260] },
        tags: isSlow ? ['linux', 'docker'] : ['large'],
      },
      { name: 'render', stage: 'deploy', seconds: [20, 30], tags: ['linux', 'docker'] },
    ],
  }
}
