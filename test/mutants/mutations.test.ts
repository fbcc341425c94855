// What `npm run mutants` tries, and what it leaves behind.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { Compiler } from '../../scripts/mutants/compiler.ts'
import { mutantsOf, mutated } from '../../scripts/mutants/mutations.ts'

const root = path.join(import.meta.dirname, '..', '..')

function changesOf(text: string): string[] {
  return mutantsOf('file.ts', text).map(({ change }) => change)
}

it('a comparison is tried with its boundary moved, and turned round', () => {
  expect(changesOf('const isLate = age > limit')).toEqual(['> → >=', '> → <='])
})

it('conditions are tried negated, fallbacks left out, and calls removed', () => {
  expect(changesOf('if (isLate) close(name ?? "none")')).toEqual([
    'isLate → !(isLate)',
    'close(name ?? "none") → ;',
    'name ?? "none" → (name)!',
  ])
})

it('statements of SQL are tried with other conditions', () => {
  expect(changesOf('sql`DELETE FROM runs WHERE due < ? AND ended IS NULL`')).toEqual([
    '< → <=',
    'AND → OR',
    'IS NULL → IS NOT NULL',
  ])
})

it('what decides nothing is left alone: comments, imports, types, logs, and what errors say', () => {
  const text = `
    // Greater > than 3.
    import { level } from './level-3.ts'
    interface Level { readonly value: 3 }
    log.warn({ tries: 3 }, 'tried')
    throw new ConfigError(\`It is \${3 + level}.\`, 'Choose another.')`
  expect(changesOf(text)).toEqual([])
})

it('a mutant is one change of the text', () => {
  const [first] = mutantsOf('file.ts', 'a === b && c')
  expect(mutated('a === b && c', first!)).toBe('a !== b && c')
})

it('a mistake that the types do not allow is not tried', () => {
  const compiler = new Compiler(root)
  const file = 'src/model/instant.ts'
  expect(compiler.accepts(file, 'export const one: number = 1')).toBe(true)
  expect(compiler.accepts(file, `export const one: number = 'one'`)).toBe(false)
})

it('a run that is killed leaves no process and no file behind', async () => {
  const script = path.join(root, 'scripts', 'mutants', 'run.ts')
  const run = spawn(process.execPath, [script, '--quick', '--file', 'model/instant.ts'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  run.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const folderOf = (): string | undefined => / in (\/.*)\n/.exec(said)?.[1]
  await expect.poll(folderOf).toBeDefined()
  const folder = folderOf()!
  const running = async (): Promise<string> => {
    const ps = spawn('ps', ['-A', '-o', 'args='], { stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = (await ps.stdout.toArray()).join('').split('\n')
    return lines.filter(line => line.includes(folder)).join('\n')
  }
  await expect.poll(running).toContain('vitest.mjs')
  run.kill('SIGKILL')
  await expect.poll(running).toBe('')
  await expect.poll(() => existsSync(folder)).toBe(false)
})
