// Each damaged row is counted and logged once, up to a maximum number of rows, so that a disk that fails everywhere fills neither the log nor memory.
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { createDamagedRows } from '../../../src/core/store/sql/damaged-rows.ts'
import { storedJson } from '../../../src/core/store/sql/stored-json.ts'

it('logs each damaged row once, and no more than 10,000 rows', () => {
  let lines = 0
  const damaged = createDamagedRows(pino({}, { write: () => void (lines += 1) }))
  const read = (id: number): unknown => damaged.row('runs', { id }, () => storedJson('{"half": '))
  for (let id = 0; id < 10_005; id += 1) {
    expect(read(id)).toBeUndefined()
    expect(read(id)).toBeUndefined()
    if (id === 2) expect([damaged.count, lines]).toEqual([3, 3])
  }
  expect([damaged.count, lines]).toEqual([10_000, 10_000])
})
