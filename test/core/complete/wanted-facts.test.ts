// Tests facts about a pipeline that attribute rules use and no webhook reported: the labels of its merge request, and its variables.
import { describe, expect, it } from 'vitest'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { createWantedFacts } from '../../../src/platform/wanted-facts.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { hour, openPolledWorld, type PolledWorld } from '../find/polled-world.ts'

const projects = ['brightwater/shop/checkout-api', 'brightwater/data/reports']
const polled = { poll: { projects } }
const wanted = createWantedFacts({ labels: ['kind::', 'team::'], variables: ['TEAM'] }, createTextRedaction([]))

const askedFor = ({ api }: PolledWorld): number =>
  api.asked.filter(({ path }) => path.includes('/merge_requests/')).length

async function labelsIn(world: PolledWorld): Promise<unknown[]> {
  return (await world.sent()).map(({ pipeline }) => pipeline.facts.labels)
}

describe("a merge request's labels", () => {
  it("requests a merge request's labels once if a rule uses them, and only for merge request pipelines", async () => {
    await using world = await openPolledWorld({ ...polled, wanted })
    const pipeline = world.lifecycle.create(scenarios.mergeRequest(new Random(3)))
    world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(hour)
    const kind = /^(feature|fix|chore)\//.exec(pipeline.ref)?.[1] ?? 'other'
    expect((await labelsIn(world)).sort()).toEqual([[`kind::${kind}`], undefined])
    expect(askedFor(world)).toBe(1)
  })

  it("does not request a merge request's labels if no rule uses labels", async () => {
    await using world = await openPolledWorld(polled)
    world.lifecycle.create(scenarios.mergeRequest(new Random(3)))
    await world.pass(hour)
    expect(await labelsIn(world)).toEqual([undefined])
    expect(askedFor(world)).toBe(0)
  })

  it("requests a merge request's labels even after a webhook reported the end of the pipeline", async () => {
    await using world = await openPolledWorld({ hook: () => true, newest: true, wanted })
    world.lifecycle.create(scenarios.mergeRequest(new Random(3)))
    await world.pass(hour)
    expect(await labelsIn(world)).toEqual([[expect.stringMatching(/^kind::/)]])
  })

  it("omits a merge request's labels if the token may not read them", async () => {
    await using world = await openPolledWorld({ ...polled, wanted })
    world.api.misbehave = ({ path }) => (path.includes('/merge_requests/') ? restFaults.missingRole() : undefined)
    world.lifecycle.create(scenarios.mergeRequest(new Random(3)))
    await world.pass(hour)
    const sent = await world.sent()
    expect(sent.map(({ pipeline }) => [pipeline.facts.labels, pipeline.lacksDetails])).toEqual([[undefined, undefined]])
  })
})

describe("a pipeline's variables", () => {
  const variables = [
    { key: 'DEPLOY_KEY', value: 'planted-value' },
    { key: 'TEAM', value: 'payments' },
  ]
  const begin = (world: PolledWorld) => world.lifecycle.create({ ...scenarios.nightly(new Random(3)), variables })
  const asked = ({ api }: PolledWorld): number => api.asked.filter(({ path }) => path.endsWith('/variables')).length

  it("requests a pipeline's variables if a rule names one, and stores only that variable", async () => {
    await using world = await openPolledWorld({ ...polled, wanted, traceparent: true })
    begin(world)
    await world.pass(hour)
    const sent = await world.sent()
    expect(sent.map(({ pipeline }) => pipeline.facts.variables)).toEqual([{ TEAM: 'payments' }])
    expect(JSON.stringify(sent)).not.toContain('planted')
    // The variables are requested only once, although the traceparent needs them, too.
    expect(asked(world)).toBe(1)
  })

  it("does not request a pipeline's variables if a webhook has reported them, or if no rule names one", async () => {
    await using reported = await openPolledWorld({ hook: () => true, newest: true, wanted })
    begin(reported)
    await reported.pass(hour)
    expect((await reported.sent()).map(({ pipeline }) => pipeline.facts.variables)).toEqual([{ TEAM: 'payments' }])
    await using unwanted = await openPolledWorld(polled)
    begin(unwanted)
    await unwanted.pass(hour)
    expect((await unwanted.sent()).map(({ pipeline }) => pipeline.facts.variables)).toEqual([undefined])
    expect([asked(reported), asked(unwanted)]).toEqual([0, 0])
  })
})
