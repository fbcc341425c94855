// Tests families of three generations without the platform's API. The result must not depend on the order in which the pipelines are observed, and no
// span may refer to a span that is not exported.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { at, day, event, hour, job, minute, openWorld, second } from './world.ts'
import { canonical } from '../../src/model/versioned.ts'
import { carriesPipeline, type Chunk } from '../../src/model/chunk.ts'
import {
  jobSpanId,
  linksOfPipeline,
  parentOfPipeline,
  pipelineSpanId,
  traceIdOf,
} from '../../src/core/telemetry/otlp/ids.ts'
import type { FamilyOptions } from '../../src/model/family.ts'
import type { Observation, PipelineFacts } from '../../src/model/observation.ts'
import { runs } from '../full.ts'

/** The ids of three pipelines: the root, the child that the root's job 70 triggered, and the grandchild that the child's job 80 triggered. */
const [root, child, grandchild] = [7, 8, 9] as const
const members = [root, child, grandchild]

interface Kind {
  readonly options?: Partial<FamilyOptions>
  /** Whether the platform lists bridges, as the newest versions do. */
  readonly bridges: boolean
  readonly facts: Readonly<Record<number, Partial<PipelineFacts>>>
}

const fromRoot = { pipelineId: root, jobId: 70 }
const fromChild = { pipelineId: child, jobId: 80 }
const sameProject: Kind['facts'] = {
  [root]: { rootPipelineId: root },
  [child]: { source: 'parent_pipeline', rootPipelineId: root, sourcePipeline: { ...fromRoot, bridgesAreListed: true } },
  [grandchild]: {
    source: 'parent_pipeline',
    rootPipelineId: root,
    sourcePipeline: { ...fromChild, bridgesAreListed: true },
  },
}
/**
 * The facts of a family whose child belongs to another project. The child names itself as its root, and the grandchild names the child as its root,
 * too.
 */
const otherProject: Kind['facts'] = {
  [root]: { rootPipelineId: root },
  [child]: { source: 'pipeline', rootPipelineId: child, sourcePipeline: { ...fromRoot, bridgesAreListed: true } },
  [grandchild]: {
    source: 'parent_pipeline',
    rootPipelineId: child,
    sourcePipeline: { ...fromChild, bridgesAreListed: true },
  },
}
const startedByJob: Kind['facts'] = {
  ...otherProject,
  [child]: { source: 'pipeline', rootPipelineId: child, sourcePipeline: { ...fromRoot, startedByJob: true } },
}
const old: Kind['facts'] = {
  [child]: { source: 'parent_pipeline', sourcePipeline: fromRoot },
  [grandchild]: { source: 'pipeline', sourcePipeline: fromChild },
}

function news({ facts, bridges }: Kind, id: number, status: 'running' | 'success'): Observation {
  const finished = status === 'success' ? 60 : undefined
  const triggers = id !== grandchild && (bridges || facts[id + 1]?.sourcePipeline?.startedByJob === true)
  const isBridge = facts[id + 1]?.sourcePipeline?.startedByJob !== true
  const trigger = isBridge
    ? { kind: 'bridge' as const, downstream: { pipelineId: id + 1, projectId: 3 } }
    : { kind: 'job' as const }
  const jobs = [
    job(id * 10 + 1, 'build', status, { started: 5, finished }),
    ...(triggers ? [job(id * 10, 'trigger', status, { started: 5, finished }, trigger)] : []),
  ]
  return event(status, finished === undefined ? {} : { finishedAt: at(finished) }, jobs, facts[id], id)
}

interface Step {
  readonly observed: Observation
  readonly pause: number
}

async function exported(steps: readonly Step[], kind: Kind): Promise<Chunk[]> {
  const world = openWorld(kind.options)
  for (const { observed, pause } of steps) {
    await world.observe(observed)
    await world.pass(pause)
  }
  await world.pass(30 * day)
  return world.sent()
}

function traces(chunks: readonly Chunk[]): string[] {
  const placed = chunks.filter(carriesPipeline).map(({ key, trace }) => canonical({ pipeline: key.pipelineId, trace }))
  return placed.sort()
}

/** Returns the missing spans: those that other spans refer to but that are not exported. */
function missing(chunks: readonly Chunk[]): string[] {
  const spans = new Set<string>()
  for (const chunk of chunks) {
    const traceId = traceIdOf(chunk.trace, chunk.key.instance)
    if (carriesPipeline(chunk)) spans.add(`${traceId} ${pipelineSpanId(chunk)}`)
    for (const one of chunk.jobs) spans.add(`${traceId} ${jobSpanId(chunk, one)}`)
  }
  return chunks.filter(carriesPipeline).flatMap(chunk => {
    const parent = parentOfPipeline(chunk)
    const named = [...(parent === undefined ? [] : [parent]), ...linksOfPipeline(chunk).map(({ context }) => context)]
    return named
      .map(({ traceId, spanId }) => `${traceId} ${spanId}`)
      .filter(name => !spans.has(name))
      .map(name => `pipeline ${chunk.key.pipelineId} names ${name}`)
  })
}

const pause = fc.constantFrom(0, second, minute, hour)
const paused = (all: readonly Observation[]): fc.Arbitrary<Step[]> =>
  fc.tuple(...all.map(observed => pause.map(ms => ({ observed, pause: ms }))))
const shuffled = (all: readonly Observation[]): fc.Arbitrary<Observation[]> =>
  fc.shuffledSubarray([...all], { minLength: all.length })

describe.each<[string, Kind]>([
  ['of a platform that names no bridges', { bridges: false, facts: old }],
  [
    'of a platform that names no bridges, under its own ids',
    { options: { scheme: 'platform' }, bridges: false, facts: old },
  ],
  ['of one project', { bridges: true, facts: sameProject }],
  ["of one project, under the platform's ids", { options: { scheme: 'platform' }, bridges: true, facts: sameProject }],
  [
    "across projects, under the platform's ids",
    { options: { scheme: 'platform' }, bridges: true, facts: otherProject },
  ],
])('a family of pipelines %s', (_, kind) => {
  it('exports the same spans of a family for any order of observations, and no span that refers to a missing span', async () => {
    const all = members.flatMap(id => [news(kind, id, 'running'), news(kind, id, 'success')])
    const expected = traces(
      await exported(
        all.map(observed => ({ observed, pause: 0 })),
        kind,
      ),
    )
    expect(expected).toHaveLength(3)
    await fc.assert(
      fc.asyncProperty(shuffled(all).chain(paused), async steps => {
        const chunks = await exported(steps, kind)
        expect(missing(chunks)).toEqual([])
        expect(traces(chunks)).toEqual(expected)
      }),
      runs(60),
    )
  })
})

describe.each<[string, Kind]>([
  ['across projects', { bridges: true, facts: otherProject }],
  ['that a job began with its token', { bridges: true, facts: startedByJob }],
])('a family of pipelines %s, with the id scheme "instance"', (_, kind) => {
  it('exports a family as one trace, in whatever order its pipelines end', async () => {
    const begun = members.map(id => news(kind, id, 'running'))
    const ends = members.map(id => news(kind, id, 'success'))
    const orders = fc.tuple(shuffled(begun), shuffled(ends).chain(paused))
    await fc.assert(
      fc.asyncProperty(orders, async ([first, then]) => {
        const chunks = await exported([...first.map(observed => ({ observed, pause: 0 })), ...then], kind)
        expect(missing(chunks)).toEqual([])
        expect(new Set(chunks.map(({ trace }) => trace.rootPipelineId))).toEqual(new Set([root]))
      }),
      runs(40),
    )
  })
})

describe('pipeline families with the id scheme "platform"', () => {
  it('gives a pipeline of another project its own trace, with a link to the upstream pipeline', async () => {
    const kind: Kind = { options: { scheme: 'platform' }, bridges: true, facts: otherProject }
    const chunks = await exported(
      members.map(id => ({ observed: news(kind, id, 'success'), pause: 0 })),
      kind,
    )
    const of = (id: number) => chunks.find(({ key }) => key.pipelineId === id)!
    expect(of(child).trace).toMatchObject({ rootPipelineId: child, linked: { pipelineId: root, rootPipelineId: root } })
    expect(of(child).trace.parent).toBeUndefined()
    expect(of(grandchild).trace).toMatchObject({ rootPipelineId: child, parent: { jobId: 80, kind: 'bridge' } })
  })

  it('links to the trace that the upstream pipeline joined by its traceparent', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const facts = { ...otherProject, [root]: { rootPipelineId: root, traceparent } }
    const kind: Kind = { options: { scheme: 'platform' }, bridges: true, facts }
    const chunks = await exported(
      members.map(id => ({ observed: news(kind, id, 'success'), pause: 0 })),
      kind,
    )
    const { trace, ...rest } = chunks.find(({ key }) => key.pipelineId === child)!
    expect(linksOfPipeline({ trace, ...rest })[0]!.context.traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736')
    expect(missing(chunks).filter(name => !name.startsWith(`pipeline ${root} `))).toEqual([])
  })
})
