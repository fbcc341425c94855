// Counts how many requests are sent to the platform's API per finished pipeline, and compares this with the minimum possible.
import { hour, minute, openPolledWorld, second, type PolledWorld } from '../test/core/find/polled-world.ts'
import { Random } from '../src/simulator/platform/random.ts'
import { scenarios, type ScenarioName } from '../src/simulator/platform/scenarios.ts'
import type { Question } from './question.ts'

export const restWebhook: Question = {
  id: 'rest-webhook',
  name: 'REST requests per finished pipeline reported by webhook',
  against: 'one request for its jobs and one for its bridges',
  ...common(true),
}

export const restPolled: Question = {
  id: 'rest-polled',
  name: 'REST requests per finished pipeline found by polling',
  against: 'one request each for the pipeline, its jobs and its bridges',
  ...common(false),
}

function common(byWebhook: boolean): Pick<Question, 'asked' | 'unit' | 'times' | 'terms' | 'rounds'> {
  return {
    asked: { atMost: 1.25 },
    unit: 'requests',
    // One round suffices, because everything is simulated, including the clock, so the result is always the same.
    times: { full: 1, quick: 1 },
    terms: quick =>
      `A group of 10,000 projects is polled every minute for ${minutesOf(quick)} simulated minutes. At any time 50 of them are active, ` +
      'and 5 new pipelines start each minute: successful, failed, retried and merge request pipelines. Budget: 300 requests per minute.',
    rounds: async function* (quick) {
      for (;;) yield await requests(byWebhook, minutesOf(quick))
    },
  }
}

function minutesOf(quick: boolean): number {
  return quick ? 6 : 60
}

const projects = Array.from({ length: 10_000 }, (_, at) => {
  const id = at + 1
  return { id, name: `p${id}`, path: `acme/p${id}`, description: '', defaultBranch: 'main' }
})
const kinds: readonly ScenarioName[] = ['small', 'branch', 'mergeRequest', 'nightly', 'flakyRunner']

async function requests(byWebhook: boolean, minutes: number): Promise<{ ours: number; rival: number; seen: string }> {
  await using world = await openPolledWorld({
    projects,
    poll: { groups: ['acme'] },
    hook: () => byWebhook,
    perMinute: 300,
  })
  await sweepDone(world)
  const random = new Random(1)
  for (let turn = 0; turn < minutes; turn += 1) {
    const active = Array.from({ length: 50 }, (_, at) => projects[(turn * 5 + at) % projects.length])
    active.forEach((project, at) => {
      if (project === undefined) return
      world.api.activity.set(project.id, world.now())
      if (at >= 5) return
      const plan = scenarios[random.pick(kinds as [ScenarioName, ...ScenarioName[]])](random)
      world.lifecycle.create({ ...plan, project })
    })
    await world.pass(minute, 20 * second)
  }
  const asked = world.api.asked.length
  const rounds = world.api.asked.filter(one => !isAboutOne(one)).length
  await world.pass(hour, minute)
  const finished = new Set((await world.sent()).map(({ key }) => key.pipelineId)).size
  const about = world.api.asked.filter(isAboutOne).length
  const [ofRounds, ofAll] = [rounds / minutes, asked / minutes].map(perMinute => perMinute.toFixed(0))
  const seen = `${finished} pipelines; ${ofAll} requests per minute in all, of which polling rounds sent ${ofRounds}`
  return { ours: about / finished, rival: byWebhook ? 2 : 3, seen }
}

/** Stores the state of a poller that completed its first check of every project in the group some time ago. */
async function sweepDone(world: PolledWorld): Promise<void> {
  const sweep = { startedAt: world.now(), since: world.now(), count: 0, before: projects.length, done: false }
  await world.store.repositories.sweeps.put({ ...sweep, instance: world.api.url, group: 'acme' })
}

function isAboutOne({ path }: { readonly path: string }): boolean {
  return /pipelines\/\d+/.test(path)
}
