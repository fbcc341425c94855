// Tests the claims and commands of pages that must be true: the README, the command table, coverage and SECURITY.md.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { allCommands } from './support/all-commands.ts'
import { docBlocks, repository } from './doc-blocks.ts'
import { docFolder } from './doc-shell.ts'
import { exitCode } from '../src/lib/terminal.ts'

const read = (file: string): string => readFileSync(path.join(repository, file), 'utf8')

describe('the README for newcomers', () => {
  const readme = read('README.md')
  const blocks = docBlocks().filter(({ page }) => page === 'README.md')

  it('has a README that can be read in three minutes', () => {
    expect(Buffer.byteLength(readme)).toBeLessThan(5_000)
  })

  it('begins the README with a description, one picture, the commands to try the program, and what they show', () => {
    const [screen = ''] = readme.split('\n## Three ways to connect\n')
    expect(screen.match(/!\[[^\]]+\]\(docs\/images\/[^)]+\)/g)).toHaveLength(1)
    expect(screen.indexOf('npm ci && npm run demo')).toBeGreaterThan(screen.indexOf('!['))
    expect(screen.indexOf('## What you get')).toBeGreaterThan(screen.indexOf('npm run demo'))
  })

  it('explains in the README how to run the tests', () => {
    expect(readme).toContain('`npm ci && npm test`')
  })

  const daemons = blocks.filter(({ script }) => script.includes('pipespan serve'))

  it('describes three ways to connect: `pipespan try`, polling and webhooks', () => {
    expect(blocks.some(({ script }) => script.startsWith('npx pipespan try '))).toBe(true)
    expect(daemons.map(({ script }) => /PIPESPAN_(\w+?)=/.exec(script)?.[1])).toEqual(['PLATFORM_URL', 'WEBHOOK_TOKEN'])
  })

  it.each(daemons)('contains README settings on line $line that the daemon accepts', ({ script }) => {
    using folder = docFolder()
    writeFileSync(path.join(folder.path, 'platform-token'), 'a-token-of-a-platform')
    const checked = script.replace('pipespan serve', 'pipespan config check')
    const { status, stdout, stderr } = spawnSync('sh', ['-eu', '-c', checked], {
      cwd: folder.path,
      env: folder.env,
      encoding: 'utf8',
    })
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('The configuration is valid.')
  })
})

/**
 * Expands `tokens list\|create` to `tokens list` and `tokens create`. Arguments and options, such as FILE, [FILE] and --since, are not part of a
 * command.
 */
function commandsOf(written: string): string[] {
  const words = written.split(' ').slice(1)
  const end = words.findIndex(word => !/^[a-z]/.test(word))
  const own = words.slice(0, end === -1 ? words.length : end).map(word => word.split(String.raw`\|`))
  return own.reduce<string[]>(
    (before, choices) => before.flatMap(one => choices.map(word => `${one} ${word}`.trim())),
    [''],
  )
}

describe('the command table', () => {
  const commands = read('docs/commands.md')

  it('lists every command of the program in docs/commands.md, and no other', () => {
    const cells = [...commands.matchAll(/^\| `(pipespan [^`]+)` \|/gm)].map(([, written = '']) => written)
    const program = allCommands({ choices: true })
    expect(program.length).toBeGreaterThan(25)
    expect(cells.flatMap(commandsOf).sort()).toEqual(program.sort())
  })

  it('lists every exit code in docs/commands.md', () => {
    const codes = [...commands.matchAll(/^\| (\d) \|/gm)].map(([, code]) => Number(code))
    expect(codes).toEqual(Object.values(exitCode))
  })
})

it('uses `npx pipespan` at most once in all documentation, because each `npx` call takes seconds', () => {
  const pages = ['*.md', 'docs/**/*.md', 'deploy/**/*.md'].flatMap(pattern => globSync(pattern, { cwd: repository }))
  expect(pages.length).toBeGreaterThan(30)
  expect(pages.flatMap(file => read(file).match(/npx pipespan\b/g) ?? []).length).toBeLessThan(2)
})

describe('docs/coverage.md', () => {
  const rows = read('docs/coverage.md')
    .split('\n')
    .filter(line => line.startsWith('| '))
    .slice(1)
    .map(line => line.split(' | '))

  it('covers about two dozen systems in docs/coverage.md', () => {
    expect(rows.length).toBeGreaterThan(20)
  })

  it.each(rows.map(cells => [cells[0]?.slice(2) ?? '', ...cells.slice(1)]))(
    'names existing tests for %s in docs/coverage.md, or a reason why there are none',
    (_system, _does, why, proof = '') => {
      const files = [...proof.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file)
      if (files.length === 0) expect(proof).toMatch(/^none: /)
      expect(why).not.toBe('')
      expect(files.filter(file => !existsSync(path.join(repository, file)))).toEqual([])
    },
  )
})

describe('SECURITY.md', () => {
  const page = read('SECURITY.md')
  const promises = page.slice(page.indexOf('## What is promised'), page.indexOf('## What it does not defend'))

  it('cites a test or a file for every promise in SECURITY.md', () => {
    const rows = promises.split('\n').filter(line => line.startsWith('| ') && !line.startsWith('| promise'))
    expect(rows.length).toBeGreaterThan(15)
    const bare = rows.filter(row => !/`(test|scripts|src)\/[^`]+`/.test(row.split('|').at(-2) ?? ''))
    expect(bare).toEqual([])
  })

  it('cites only existing files in SECURITY.md', () => {
    const named = [...page.matchAll(/`((?:test|scripts|src)\/[^`\s]+)`/g)].map(([, file = '']) => file)
    expect(named.filter(file => !existsSync(path.join(repository, file)))).toEqual([])
  })
})
