// docs/commands.md: its table has every command of the program and no other, with the exit codes that commands have.
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { allCommands } from './support/all-commands.ts'
import { exitCode } from '../src/lib/terminal.ts'
import { repository } from './doc-blocks.ts'

const read = (file: string): string => readFileSync(path.join(repository, file), 'utf8')
const page = read('docs/commands.md')

/** `tokens list\|create` → `tokens list` and `tokens create`; what is not a word of a command ends it: FILE, [FILE], --since. */
function commandsOf(written: string): string[] {
  const words = written.split(' ').slice(1)
  const end = words.findIndex(word => !/^[a-z]/.test(word))
  const own = words.slice(0, end === -1 ? words.length : end).map(word => word.split(String.raw`\|`))
  return own.reduce<string[]>(
    (before, choices) => before.flatMap(one => choices.map(word => `${one} ${word}`.trim())),
    [''],
  )
}

describe('the table of commands', () => {
  it('has every command of the program, and no other', () => {
    const cells = [...page.matchAll(/^\| `(pipespan [^`]+)` \|/gm)].map(([, written = '']) => written)
    const program = allCommands({ choices: true })
    expect(program.length).toBeGreaterThan(25)
    expect(cells.flatMap(commandsOf).sort()).toEqual(program.sort())
  })

  it('has each exit code', () => {
    const codes = [...page.matchAll(/^\| (\d) \|/gm)].map(([, code]) => Number(code))
    expect(codes).toEqual(Object.values(exitCode))
  })
})

it('the documents write `npx` before the command once at most: each call of it takes seconds', () => {
  const pages = ['*.md', 'docs/**/*.md', 'deploy/**/*.md'].flatMap(pattern => globSync(pattern, { cwd: repository }))
  expect(pages.length).toBeGreaterThan(30)
  expect(pages.flatMap(file => read(file).match(/npx pipespan\b/g) ?? []).length).toBeLessThan(2)
})
