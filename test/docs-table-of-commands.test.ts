// docs/commands.md: its table has every command of the program and no other, with the exit codes that commands have.
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { exitCode } from '../src/lib/terminal.ts'
import { repository } from './doc-blocks.ts'
import { runCommand } from './e2e/run-command.ts'

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

/** As the completion script has them, which is made from the program: each command without subcommands, and the choices of an argument. */
async function commandsOfProgram(): Promise<string[]> {
  const { stdout } = await runCommand(['completion', 'bash'])
  const places = [...stdout.matchAll(/^ {4}'([^']*)'\)\n\s+commands='([^']*)'/gm)].map(
    ([, place = '', words = '']) => ({
      place,
      words: words.split(' ').filter(word => word !== ''),
    }),
  )
  const parents = new Set(places.filter(({ words }) => words.length > 0).map(({ place }) => place))
  return places
    .flatMap(({ place, words }) => words.map(word => `${place} ${word}`.trim()))
    .filter(command => !parents.has(command))
}

describe('the table of commands', () => {
  it('has every command of the program, and no other', async () => {
    const cells = [...page.matchAll(/^\| `(pipespan [^`]+)` \|/gm)].map(([, written = '']) => written)
    const program = await commandsOfProgram()
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
