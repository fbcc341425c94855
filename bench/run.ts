// Answers the questions of the benchmark suite one after another, and prints one table with the ratios of this run.
//
//   npm run bench                         all questions: about 45 minutes, and up to 30 GB in the temporary folder
//   npm run bench -- --quick              the same questions in 2 minutes: shorter, smaller, fewer rounds
//   npm run bench -- --only accept,mix    only these questions
//   npm run bench -- --record             also writes the answers to bench/results.json and docs/performance.md
import { parseArgs } from 'node:util'
import { accept } from './accept.ts'
import { answer, type Answer } from './question.ts'
import { costPerJob } from './cost-per-job.ts'
import { connections } from './connections.ts'
import { cpu } from './cpu.ts'
import { durable } from './durable.ts'
import { encode } from './encode.ts'
import { holds } from './holds.ts'
import { idleMemory } from './idle-memory.ts'
import { latency } from './latency.ts'
import { loadMemory } from './load-memory.ts'
import { logs } from './logs.ts'
import { memory } from './memory.ts'
import { mix } from './mix.ts'
import { postgres } from './postgres.ts'
import { readResults, textTable, writeResults } from './results.ts'
import { reportResults } from './report.ts'
import { restWebhook, restPolled } from './rest-requests.ts'
import { signals } from './signals.ts'
import { start } from './start.ts'
import { sustained } from './sustained.ts'
import { throughput } from './throughput.ts'

const questions = [
  ...[accept, sustained, signals, mix],
  ...[durable, cpu, encode, costPerJob],
  ...[throughput, start, memory, latency],
  ...[idleMemory, loadMemory, connections, logs, holds],
  ...[postgres, restWebhook, restPolled],
]

/** Questions that measure microseconds come first. Later, the disk would still be writing and the processor's caches would contain other data. */
const asked = [encode, costPerJob, ...questions.filter(one => one !== encode && one !== costPerJob)]

// Exits via `process.exit` on a signal, so that child processes are stopped and temporary files are removed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const values = commandLine()
const only = values.only.flatMap(list => list.split(','))
const unknown = only.filter(id => !questions.some(question => question.id === id))
if (unknown.length > 0) {
  console.error(`There is no question ${unknown.join(', ')}. There are: ${questions.map(({ id }) => id).join(', ')}.`)
  process.exit(2)
}

if (values.quick && values.record) {
  console.error('Quick answers are too uncertain to be recorded. Omit --quick or --record.')
  process.exit(2)
}

// If only some questions are asked, the recorded answers to the other questions are kept. Without --record, no file in the checkout is changed.
const earlier = only.length > 0 ? (readResults()?.answers ?? []) : []
const answers: Answer[] = []
for (const question of asked) {
  if (only.length > 0 && !only.includes(question.id)) continue
  const began = performance.now()
  answers.push(await answer(question, values.quick))
  console.error(`${question.id}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  if (values.record) writeResults(questions, [...earlier, ...answers])
}
if (values.record) reportResults()
console.log(textTable(answers))
if (answers.some(one => 'failed' in one)) process.exitCode = 1

function commandLine() {
  try {
    return parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        record: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
      },
    }).values
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(2)
  }
}
