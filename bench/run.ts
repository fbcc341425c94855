// `npm run bench`: every question in turn, one table with ratios of the same run, and bench/results.json. `-- --quick` is short.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { accept } from './accept.ts'
import { answer, type Answer } from './question.ts'
import { costPerJob } from './cost-per-job.ts'
import { encode } from './encode.ts'
import { start } from './start.ts'

const quick = process.argv.includes('--quick')
const questions = [accept, encode, costPerJob, start]

const answers: Answer[] = []
for (const question of questions) {
  process.stderr.write(`measuring: ${question.name}\n`)
  answers.push(await answer(question, quick))
}

const rows = answers.map(one => [
  one.name,
  one.against,
  `${figure(one.ours)} ${one.unit}`,
  `${figure(one.rival)} ${one.unit}`,
  `${figure(one.ratio)} (${one.spread.map(figure).join(' to ')})`,
  one.asked,
  one.met ? 'yes' : 'no',
])
const table = [['question', 'against', 'ours', 'rival', 'ratio (spread)', 'asked', 'met'], ...rows]
const widths = table[0]?.map((_, column) => Math.max(...table.map(row => row[column]?.length ?? 0))) ?? []
for (const row of table)
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )

const machine = { node: process.versions.node, quick, measuredAt: new Date().toISOString() }
const file = path.join(import.meta.dirname, 'results.json')
writeFileSync(file, `${JSON.stringify({ machine, answers }, null, 2)}\n`)

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
