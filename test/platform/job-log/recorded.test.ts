// Tests logs written by real runners. They are read from a folder on this machine (PIPESPAN_TEST_LOGS), because none may be copied into the
// repository. The log reader must find every section at the position at which a naive parser of the markers finds it. The test prints how many lines
// were redacted.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { readLog } from './read-log.ts'
import { report } from '../../e2e/load.ts'

const folder = process.env.PIPESPAN_TEST_LOGS

interface Plain {
  readonly name: string
  readonly parent: string | undefined
  readonly start: number
  end: number
}

/** Finds the sections by naively parsing the numbers in the markers (whole seconds). */
function plainly(log: string, jobEnd: number): Plain[] {
  const open: Plain[] = []
  const all: Plain[] = []
  for (const [, edge, seconds, name = ''] of log.matchAll(marker)) {
    const at = Number(seconds) * 1_000
    if (edge === 'start') {
      const section = { name, parent: open.at(-1)?.name, start: at, end: jobEnd }
      open.push(section)
      all.push(section)
      continue
    }
    const index = open.findLastIndex(one => one.name === name)
    if (index >= 0) for (const one of open.splice(index)) one.end = at
  }
  return all
}

const marker = /section_(start|end):(\d+):([\w.-]+)(?:\[[^\]\r\n]*\])?\r/g

it.skipIf(folder === undefined)('finds the sections of recorded logs by their markers', () => {
  const files = readdirSync(folder ?? '')
  expect(files.length).toBeGreaterThan(0)
  const redactText = createTextRedaction([])
  for (const file of files) {
    const stored = readFileSync(path.join(folder ?? '', file), 'utf8')
    // Programs that store logs as text may have converted the CR of a marker into a line break.
    const log = stored
      .replace(/(section_(?:start|end):\d+:[\w.-]+)\n(?=\u001b\[0K)/g, '$1\r')
      .replace(/(section_(?:start|end):\d+:[\w.-]+)\n/g, '$1\r\n')
    const times = [...log.matchAll(marker)].map(([, , seconds]) => Number(seconds) * 1_000)
    const job = { start: Math.min(...times) - 5_000, end: Math.max(...times) + 5_000, isScriptFailure: false }
    const { sections, lines } = readLog(log, job)
    const names = new Map(sections.map(({ ordinal, name }) => [ordinal, name]))
    const read = sections.map(({ name, parent = 0, start, end }) => [name, names.get(parent), whole(start), whole(end)])
    const plain = plainly(log, job.end).map(({ name, parent, start, end }) => [name, parent, whole(start), whole(end)])
    expect([file, ...read]).toEqual([file, ...plain])
    const redacted = lines.filter(({ text }) => redactText(text) !== text).length
    report({ file, sections: sections.length, lines: lines.length, redacted })
  }
})

function whole(at: number): number {
  return Math.floor(at / 1_000)
}
