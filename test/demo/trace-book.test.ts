// Tests which spans the demo draws together, and when.
import { describe, expect, it } from 'vitest'
import { TraceBook } from '../../src/simulator/trace-book.ts'
import type { ReceivedSpan } from '../../src/simulator/received.ts'

function span(name: string, over: Partial<ReceivedSpan> = {}): ReceivedSpan {
  return {
    traceId: 'a'.repeat(32),
    spanId: name.padEnd(16, '0'),
    parentSpanId: undefined,
    name,
    kind: 'pipeline',
    start: 0,
    end: 1,
    status: 'ok',
    attributes: {},
    scope: '',
    ...over,
  }
}

const names = (drawn: readonly { readonly name: string }[][]): string[][] =>
  drawn.map(spans => spans.map(({ name }) => name))

describe("the demo's trace book", () => {
  it('holds a child pipeline back until its root pipeline arrives, and draws both together', () => {
    const book = new TraceBook()
    expect(book.add([span('child', { parentSpanId: 'bridge' })])).toEqual([])
    expect(names(book.add([span('root'), span('bridge', { kind: 'job', parentSpanId: 'root' })]))).toEqual([
      ['child', 'root', 'bridge'],
    ])
    expect(book.rest()).toEqual([])
  })

  it('draws later pipelines of a family immediately and on their own', () => {
    const book = new TraceBook()
    book.add([span('root')])
    expect(names(book.add([span('late child', { parentSpanId: 'bridge' })]))).toEqual([['late child']])
  })

  it('returns the pipelines that are still held back, and drops the oldest beyond a limit', () => {
    const book = new TraceBook()
    for (let i = 0; i < 1_001; i += 1) {
      book.add([span('child', { traceId: String(i).padStart(32, '0'), parentSpanId: 'bridge' })])
    }
    expect(book.rest()).toHaveLength(1_000)
  })
})
