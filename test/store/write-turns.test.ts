// Turns of writing between two threads: never both at once, and the door first.
import { describe, expect, it } from 'vitest'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { writeTurns } from '../../src/store/sqlite/write-turns.ts'

/** A house on a thread of its own: takes a turn `times` times, and would notice anybody else within it. */
const house = `
  import { workerData, parentPort } from 'node:worker_threads'
  const { writeTurns } = await import(workerData.module)
  const turns = writeTurns(workerData.shared)
  const inside = new Int32Array(workerData.inside)
  let overlaps = 0
  for (let n = 0; n < workerData.times; n += 1) {
    turns.take()
    if (Atomics.add(inside, 0, 1) !== 0) overlaps += 1
    for (let spin = 0; spin < 2_000; spin += 1) Math.sqrt(spin)
    Atomics.sub(inside, 0, 1)
    turns.give()
  }
  parentPort.postMessage(overlaps)
`

function startHouse(shared: SharedArrayBuffer, inside: SharedArrayBuffer, times: number): Worker {
  const module = new URL('../../src/store/sqlite/write-turns.ts', import.meta.url).href
  const url = new URL(`data:text/javascript,${encodeURIComponent(house)}`)
  return new Worker(url, { workerData: { module, shared, inside, times } })
}

describe('turns of writing', () => {
  it('are never had by the house and the door at once, and the door gets its own however busy the house is', async () => {
    const turns = writeTurns()
    const inside = new SharedArrayBuffer(4)
    const place = new Int32Array(inside)
    const worker = startHouse(turns.shared, inside, 20_000)
    const told = once(worker, 'message') as Promise<[number]>
    const over = new AbortController()
    void told.then(() => over.abort())
    let had = 0
    let overlaps = 0
    while (!over.signal.aborted) {
      await turns.wantAndTake()
      if (Atomics.add(place, 0, 1) !== 0) overlaps += 1
      Atomics.sub(place, 0, 1)
      turns.give()
      had += 1
      await new Promise(resolve => setImmediate(resolve))
    }
    const [theirs] = await told
    expect(overlaps + theirs).toBe(0)
    expect(had).toBeGreaterThan(100)
  })

  it('are gone without when a thread that has one never gives it back', async () => {
    const turns = writeTurns()
    writeTurns(turns.shared).take()
    const began = performance.now()
    await turns.wantAndTake()
    expect(performance.now() - began).toBeGreaterThan(1_000)
    // Whoever went on without has none to give: the lock stays with who has it.
    turns.give()
    expect(new Int32Array(turns.shared)[0]).toBe(1)
  }, 10_000)
})
