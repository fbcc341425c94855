// How snapshots look as traces: golden files of whole stories, and what must hold whatever is reported.
import { SpanKind } from '@opentelemetry/api'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { profiles } from '../../../src/daemon/profile.ts'
import { encodeTraces, tracesAsJson } from '../../../src/core/telemetry/encode.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { readableSpans } from './sdk.ts'
import { anyChunk } from './arbitraries.ts'
import { readable } from './golden.ts'
import { at, stories } from './stories.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

const settings = telemetrySettings({ profiles })

function story(name: string): readonly Chunk[] {
  const chunks = stories[name]
  if (chunks === undefined || chunks.length === 0) throw new Error(`no story ${name}`)
  return chunks
}

function spansOf(name: string, chunk = 0) {
  return readableSpans(story(name)[chunk]!, settings)
}

describe('the traces of whole stories', () => {
  for (const [name, chunks] of Object.entries(stories)) {
    it(`are as the golden file shows: ${name}`, async () => {
      await expect(readable(tracesAsJson(chunks, settings))).toMatchFileSnapshot(`../../golden/traces/${name}.json`)
    })
  }
})

describe('a trace', () => {
  it('begins with the pipeline, followed by its jobs in order of start and id', () => {
    expect(spansOf('success').map(({ name }) => name)).toEqual([
      'pipeline: Build and deploy',
      'job: compile',
      'job: lint',
      'job: integration',
      'job: unit',
      'job: live',
    ])
  })

  it('has one resource and one scope object for all spans of a chunk, and another resource for the next', () => {
    const [one, two] = story('family').map(chunk => readableSpans(chunk, settings))
    expect(new Set(one!.map(({ resource }) => resource)).size).toBe(1)
    expect(new Set([...one!, ...two!].map(({ instrumentationScope }) => instrumentationScope)).size).toBe(1)
    expect(one![0]!.resource).not.toBe(two![0]!.resource)
  })

  it('has the pipeline as a SERVER span and the jobs as INTERNAL spans', () => {
    const [pipeline, ...jobs] = spansOf('success')
    expect(pipeline!.kind).toBe(SpanKind.SERVER)
    expect(new Set(jobs.map(({ kind }) => kind))).toEqual(new Set([SpanKind.INTERNAL]))
  })

  it('names the pipeline like the conventions if configured', () => {
    const conventions = telemetrySettings({ profiles, spanNames: 'conventions' })
    expect(readableSpans(story('success')[0]!, conventions)[0]!.name).toBe('RUN Build and deploy')
    expect(readableSpans(story('failure')[0]!, conventions)[0]!.name).toBe('RUN')
    expect(readableSpans(story('success')[0]!, conventions)[1]!.name).toBe('job: compile')
  })

  it('names its action if the name of the span does', () => {
    const actionOf = (spanNames: 'legacy' | 'conventions'): unknown => {
      const [span] = readableSpans(story('success')[0]!, telemetrySettings({ profiles, spanNames }))
      return span!.attributes['cicd.pipeline.action.name']
    }
    expect(actionOf('conventions')).toBe('RUN')
    expect(actionOf('legacy')).toBeUndefined()
  })

  it('has the protection of the ref only if a source reported it', () => {
    const names = ['pipeline.protected_ref', 'platform.vcs.ref.head.protected']
    const [chunk] = story('success')
    const protectedIs = (protectedRef: boolean | undefined) => {
      const facts = { ...chunk!.pipeline.facts, protectedRef }
      const [span] = readableSpans({ ...chunk!, pipeline: { ...chunk!.pipeline, facts } }, settings)
      return names.map(name => span!.attributes[name])
    }
    expect(protectedIs(true)).toEqual([true, true])
    expect(protectedIs(false)).toEqual([false, false])
    expect(protectedIs(undefined)).toEqual([undefined, undefined])
  })

  it('says that a pipeline of a merge request ran in a merge train', () => {
    const [chunk] = story('merge-request')
    const pipeline = { ...chunk!.pipeline, mergeRequestEvent: 'merge_train' }
    const [span] = readableSpans({ ...chunk!, pipeline }, settings)
    expect(span!.attributes['platform.cicd.pipeline.merge_request.event_type']).toBe('merge_train')
  })

  it('keeps milliseconds exactly', () => {
    const unit = spansOf('success').find(({ name }) => name === 'job: unit')!
    expect(unit.startTime).toEqual([at(1, 2) / 1000, 250_000_000])
  })

  it('has no pipeline span in a supplement, whose jobs have the earlier span as parent', () => {
    const [pipeline] = spansOf('supplement', 0)
    const late = spansOf('supplement', 1)
    expect(late.map(({ name }) => name)).toEqual(['job: unit', 'job: trigger'])
    expect(late[0]!.parentSpanContext?.spanId).toBe(pipeline!.spanContext().spanId)
  })

  it('puts a child pipeline under the span of its bridge, in the same trace', () => {
    const parent = spansOf('family', 0)
    const child = spansOf('family', 1)
    const bridge = parent.find(({ name }) => name === 'job: trigger-deployment')!
    expect(child[0]!.parentSpanContext).toMatchObject(bridge.spanContext())
    expect(child[0]!.spanContext().traceId).toBe(parent[0]!.spanContext().traceId)
  })

  it('links a second attempt to the first, and a job that ran again to its first span', () => {
    const first = spansOf('retry', 0)
    const second = spansOf('retry', 1)
    const live = (spans: typeof first) => spans.find(({ name }) => name === 'job: live')!
    expect(second[0]!.links.map(({ context }) => context.spanId)).toEqual([first[0]!.spanContext().spanId])
    expect(live(second).links.map(({ context }) => context.spanId)).toEqual([live(first).spanContext().spanId])
    expect(live(second).spanContext().spanId).not.toBe(live(first).spanContext().spanId)
  })
})

describe('whatever is observed', () => {
  it('no span starts at the epoch or before it, and none ends before it starts', () => {
    fc.assert(
      fc.property(anyChunk, chunk => {
        for (const { startTime, endTime } of readableSpans(chunk, settings)) {
          const [start, end] = [startTime, endTime].map(([s, n]) => BigInt(s) * 1_000_000_000n + BigInt(n))
          expect(start! > 0n && end! >= start! && end! < 2n ** 63n).toBe(true)
        }
      }),
    )
  })

  it('every span has valid ids of its own', () => {
    fc.assert(
      fc.property(anyChunk, chunk => {
        const contexts = readableSpans(chunk, settings).map(span => span.spanContext())
        for (const { traceId, spanId } of contexts) {
          expect(traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/)
          expect(spanId).toMatch(/^(?!0{16})[0-9a-f]{16}$/)
        }
        expect(new Set(contexts.map(({ spanId }) => spanId)).size).toBe(contexts.length)
      }),
    )
  })

  it('the bytes of two chunks are the bytes of each, one after the other', () => {
    fc.assert(
      fc.property(anyChunk, anyChunk, (a, b) => {
        const apart = Buffer.concat([encodeTraces([a], settings), encodeTraces([b], settings)])
        expect(Buffer.from(encodeTraces([a, b], settings)).equals(apart)).toBe(true)
      }),
    )
  })
})
