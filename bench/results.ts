// Stores the answers in results.json, and formats them for the terminal and as the table in docs/performance.md.
import { cpus, totalmem } from 'node:os'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Answer, Question } from './question.ts'

const file = path.join(import.meta.dirname, 'results.json')

export interface Results {
  readonly machine: {
    readonly node: string
    readonly processor: string
    readonly cores: number
    readonly memoryGiB: number
  }
  readonly answers: readonly Answer[]
}

/** Reads the recorded results of earlier runs; undefined if there are none. */
export function readResults(): Results | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : undefined
}

/** Writes the answers in the order of the questions. If there are several answers to a question, the last one is written. */
export function writeResults(questions: readonly Question[], answers: readonly Answer[]): void {
  const processors = cpus()
  const machine = {
    node: process.versions.node,
    processor: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
  }
  const kept = questions.flatMap(({ id }) => answers.findLast(one => one.id === id) ?? [])
  writeFileSync(file, `${JSON.stringify({ machine, answers: kept } satisfies Results, null, 2)}\n`)
}

const heads = ['question', 'compared with', 'Pipespan', 'reference', 'ratio (spread)', 'required', 'met'] as const

/** Formats the answers as a table with aligned columns for a terminal. */
export function textTable(answers: readonly Answer[]): string {
  const table = [[...heads], ...answers.map(cellsOf)]
  const widths = heads.map((_, column) => Math.max(...table.map(row => row[column]?.length ?? 0)))
  const lines = table.map(row => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  const seen = answers.flatMap(one => ('seen' in one ? `${one.id}: ${one.seen}` : []))
  return [...lines.map(line => line.trimEnd()), ...seen].join('\n')
}

/** Formats the results as a Markdown table, with the information that readers need to interpret each line. */
export function markdown(results: Results | undefined): string {
  if (results === undefined) return '\nNot measured yet.\n\n'
  const { machine, answers } = results
  const { processor, cores, memoryGiB, node } = machine
  const days = answers.map(({ measuredAt }) => measuredAt.slice(0, 10)).toSorted()
  const when = [...new Set([days[0], days.at(-1)])].join(' to ')
  const rows = answers.map(one => {
    const [, against = '', ...cells] = cellsOf(one)
    return row([`**${one.id}**: ${one.name}`, against, ...cells])
  })
  const terms = answers.map(one => {
    const [rounds, seen] =
      'failed' in one ? ['', ''] : [` Rounds: ${one.rounds}.`, one.seen ? ` Also observed: ${one.seen}.` : '']
    return `- **${one.id}** (${one.measuredAt.slice(0, 10)}): ${one.terms}${rounds}${seen}`
  })
  return [
    '',
    `Node ${node}, ${cores} cores of ${processor}, ${memoryGiB} GiB of memory; ${when}.`,
    '',
    row(heads),
    row(heads.map(() => '---')),
    ...rows,
    '',
    ...terms,
    '',
    '',
  ].join('\n')
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function cellsOf(one: Answer): string[] {
  const { id, against, asked } = one
  if ('failed' in one) return [id, against, '', '', `failed: ${one.failed}`, asked, 'no']
  const ratio = `${figure(one.ratio)} (${one.spread.map(figure).join(' to ')})`
  return [id, against, `${figure(one.ours)} ${one.unit}`, `${figure(one.rival)} ${one.unit}`, ratio, asked, yesNo(one)]
}

function yesNo({ met }: { readonly met: boolean }): string {
  return met ? 'yes' : 'no'
}

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
