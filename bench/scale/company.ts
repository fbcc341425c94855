// Simulates a company of 10,000 projects in 500 groups on the simulated platform, in real time. Pipelines start at a steady rate in randomly chosen
// projects. Each event is passed to a sender as soon as it happens.
import { setTimeout as sleep } from 'node:timers/promises'
import { deliveryOf, type Delivery } from '../../src/simulator/platform/delivery.ts'
import { Lifecycle } from '../../src/simulator/platform/lifecycle.ts'
import { type PipelinePlan, isOver, type PlatformState } from '../../src/simulator/platform/state.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { allScenarios, scenarios } from '../../src/simulator/platform/scenarios.ts'
import { Timeline } from '../../src/simulator/platform/timeline.ts'
import { projects as ofOneTeam, type SimProject } from '../../src/simulator/platform/world.ts'
import { generate } from '../../test/support/generate.ts'

export interface Size {
  readonly groups: number
  /** Number of teams. Each team has the simulated company's five projects, in one group. */
  readonly teams: number
}

/** An event of a pipeline. `ends`: if the event ends the pipeline, how many times the pipeline has ended so far, including this time. */
export interface CompanyEvent {
  readonly delivery: Delivery
  readonly ends?: number | undefined
}

const team = Object.values(ofOneTeam)

/** The projects of all teams, team by team. */
export function projectsOf({ groups, teams }: Size): SimProject[] {
  return Array.from({ length: teams }, (_, number) => projectsOfTeam(number, groups)).flat()
}

function projectsOfTeam(number: number, groups: number): SimProject[] {
  return team.map((project, place) => ({
    ...project,
    id: 1_000_000 + number * team.length + place,
    path: `acme/group-${number % groups}/team-${number}/${project.path.split('/').at(-1) ?? ''}`,
  }))
}

/** Moves a pipeline's plan to one team's projects. */
function inTeam(plan: PipelinePlan, number: number, groups: number): PipelinePlan {
  const place = team.findIndex(({ id }) => id === plan.project.id)
  return {
    ...plan,
    project: projectsOfTeam(number, groups)[place] ?? plan.project,
    jobs: plan.jobs.map(job => {
      const { triggers } = job
      return triggers === undefined
        ? job
        : { ...job, triggers: { ...triggers, plan: inTeam(triggers.plan, number, groups) } }
    }),
  }
}

/** The average number of events per pipeline, including those of the pipelines that it triggers. */
function eventsOfOne(): number {
  const families = [...generate({ seed: 5, scenarios: allScenarios, pipelines: allScenarios.length * 5 })]
  return families.reduce((sum, { deliveries }) => sum + deliveries.length, 0) / families.length
}

export interface CompanyOptions {
  readonly size: Size
  /** Average number of events per second. */
  readonly rate: number
  readonly instance: string
  readonly state: PlatformState
  readonly send: (event: CompanyEvent) => void
}

/** Starts pipelines until `signal` is aborted, then lets the running ones finish. Resolves when all have ended. */
export async function runCompany(options: CompanyOptions, signal: AbortSignal): Promise<void> {
  const { size, rate, instance, state, send } = options
  const random = new Random(11)
  const timeline = new Timeline(Date.now())
  const payload = { instance, newest: true }
  const lifecycle = new Lifecycle(state, timeline, random, news => {
    const { kind, pipeline } = news
    const over = kind === 'pipeline' && isOver(pipeline.status)
    const ends = over ? pipeline.history.filter(({ status }) => isOver(status)).length : undefined
    send({ delivery: deliveryOf(news, payload, random), ends })
  })
  const every = eventsOfOne() / rate
  const start = (count: number): void => {
    if (signal.aborted) return
    const name = allScenarios[count % allScenarios.length] ?? allScenarios[0]
    lifecycle.create(inTeam(scenarios[name](random), random.whole(0, size.teams - 1), size.groups))
    timeline.after(random.between(0.5, 1.5) * every, () => start(count + 1))
  }
  start(0)
  while (timeline.next !== undefined) {
    timeline.runUntil(Date.now())
    await sleep(5)
  }
}
