// What `npm run mutants` tries, and what it leaves behind.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Compiler } from '../../scripts/mutants/compiler.ts'
import { mutantsOf, mutated } from '../../scripts/mutants/mutations.ts'

const root = path.join(import.meta.dirname, '..', '..')

function changesOf(text: string): string[] {
  return mutantsOf('file.ts', text).map(({ change }) => change)
}

it('mutates a comparison by moving its boundary and by reversing it', () => {
  expect(changesOf('const isLate = age > limit')).toEqual(['> → >=', '> → <='])
})

it('mutates by negating conditions, dropping fallbacks, and removing calls', () => {
  expect(changesOf('if (isLate) close(name ?? "none")')).toEqual([
    'isLate → !(isLate)',
    'close(name ?? "none") → ;',
    'name ?? "none" → (name)!',
  ])
})

it('mutates the conditions of SQL statements', () => {
  expect(changesOf('sql`DELETE FROM runs WHERE due < ? AND ended IS NULL`')).toEqual([
    '< → <=',
    'AND → OR',
    'IS NULL → IS NOT NULL',
  ])
})

it('does not mutate comments, imports, types, logs and error messages', () => {
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

it('skips mutants that do not compile', () => {
  const compiler = new Compiler(root)
  const file = 'src/model/instant.ts'
  expect(compiler.accepts(file, 'export const one: number = 1')).toBe(true)
  expect(compiler.accepts(file, `export const one: number = 'one'`)).toBe(false)
})

it('leaves no process and no file behind after it is killed', async () => {
  const script = path.join(root, 'scripts', 'mutants', 'run.ts')
  // One line of it: each mutant of a file takes a type check before the run begins.
  const text = readFileSync(path.join(root, 'src', 'model', 'instant.ts'), 'utf8')
  const mutant = mutantsOf('src/model/instant.ts', text).find(({ change }) => change.startsWith('1000 →'))
  const run = spawn(process.execPath, [script, '--quick', '--file', `model/instant.ts:${mutant!.line}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void run.kill('SIGKILL'))
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
