// Tests that the settler settles the other due runs if the stored data of one run is damaged. The tests run on both databases.
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { type SettleLoop } from '../../../src/core/settle/settle-loop.ts'
import { event, instance, job, at, minute, rules, second, settlerOf } from '../../flow/world.ts'
import { chunkOfRun, deliver, pipelineIdOf } from '../../support/of-run.ts'
import { opened, type BareBench } from './benches.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const exportQueue = { destination: 'default', signal: 'traces' } as const
const due = [1, 2, 3, 4, 5]
const bad = 3
const damage = `UPDATE runs SET document = substr(document, 1, 20) WHERE pipeline_id = ${bad}`

export function settlerExercise(name: string, bench: () => Promise<BareBench>): void {
  describe(`the settler on ${name}`, () => {
    let here: BareBench
    let store: Store
    let lines: Record<string, unknown>[]

    beforeEach(async () => {
      ;({ here, store } = await opened(bench))
      lines = []
      await observe(due)
    })

    async function observe(ids: readonly number[]): Promise<void> {
      const reported = ids.map(id =>
        event('success', { finishedAt: at(60) }, [job(id * 10, 'build', 'success', { finished: 50 })], {}, id),
      )
      await store.runs.transact(mergeObservations(reported, 'webhook', rules))
    }

    function settlerOn(): SettleLoop {
      return settlerOf(store, {
        perTransaction: due.length,
        log: pino({}, { write: line => lines.push(JSON.parse(line) as Record<string, unknown>) }),
        clock: { now: () => here.now(), sleep: async () => undefined },
      })
    }

    async function sent(): Promise<number[]> {
      return (await deliver(store, exportQueue)).map(pipelineIdOf).sort((a, b) => a - b)
    }

    it('settles the other runs of a batch if one run fails, and settles that run as soon as possible', async () => {
      await here.sql('CREATE TABLE kept AS SELECT pipeline_id, document FROM runs')
      await here.sql(damage)
      const settler = settlerOn()
      here.move(rules.settle)
      await settler.drain()
      expect(await sent()).toEqual(due.filter(id => id !== bad))
      expect(settler.counters.postponed).toBe(1)

      // The settler retries the damaged run with exponential backoff rather than in a hot loop, and reports it once.
      for (let seconds = 0; seconds < 15 * 60; seconds += 5) {
        here.move(5 * second)
        await settler.drain()
      }
      expect(settler.counters.postponed).toBeGreaterThan(4)
      expect(settler.counters.postponed).toBeLessThan(12)
      expect(lines.filter(({ level }) => level === pino.levels.values.error)).toMatchObject([
        { instance, pipelineId: bad },
      ])

      await here.sql(
        `UPDATE runs SET document = (SELECT document FROM kept WHERE kept.pipeline_id = ${bad}) WHERE pipeline_id = ${bad}`,
      )
      await here.sql('DROP TABLE kept')
      for (let seconds = 0; seconds < 5 * 60; seconds += 5) {
        here.move(5 * second)
        await settler.drain()
      }
      expect(await sent()).toEqual([bad])
    })

    it('marks a canceled pipeline as superseded if a newer pipeline of its ref existed, not counting child pipelines', async () => {
      const canceled = (id: number, ref: string) =>
        event('canceled', { finishedAt: at(60) }, [job(id * 10, 'build', 'canceled', { finished: 60 })], { ref }, id)
      const newer = (id: number, ref: string, created: number, source = 'push') =>
        event('running', { createdAt: at(created) }, [], { ref, source }, id)
      const reported = [
        ...[canceled(6, 'topic'), newer(7, 'topic', 30), canceled(8, 'late'), newer(9, 'late', 90)],
        ...[canceled(10, 'parent'), newer(11, 'parent', 10, 'parent_pipeline')],
      ]
      await store.runs.transact(mergeObservations(reported, 'webhook', rules))
      here.move(rules.settle)
      await settlerOn().drain()
      const { items } = await store.outbox.lease(exportQueue, 100, minute)
      const superseded = items.map(chunkOfRun).filter(chunk => chunk.pipeline.superseded === true)
      expect(items).toHaveLength(due.length + 3)
      expect(superseded.map(chunk => chunk.key.pipelineId)).toEqual([6])
    })

    it('treats an error that affects all runs as a store error, and retries all of them', async () => {
      const settler = settlerOn()
      here.move(rules.settle)
      await here.sql('ALTER TABLE messages RENAME TO away')
      await expect(settler.drain()).rejects.toThrow()
      await here.sql('ALTER TABLE away RENAME TO messages')
      here.move(minute)
      await settler.drain()
      expect(settler.counters.postponed).toBe(0)
      expect(await sent()).toEqual(due)
    })
  })
}
