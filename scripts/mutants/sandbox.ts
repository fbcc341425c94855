// A copy of the checkout with its packages, in which mutants are tested, so that a mutant cannot change the checkout. A shell watches the copy:
// however this process ends, the shell ends all processes in the copy and deletes it.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { folderInMemory } from '../../test/folder-in-memory.ts'

export type Verdict =
  { readonly kind: 'passed' } | { readonly kind: 'failed'; readonly by: string } | { readonly kind: 'timeout' }

/**
 * Kills the process group $group. Daemons have their own groups, so it also kills each process whose command line contains a file of the folder $0.
 */
const sweep = `
  running() { ps -A -o pid= -o args= | grep -F -- "$0/" | awk '{ print $1 }'; }
  # PostgreSQL gives its shared memory back only when it is asked to stop.
  for id in $(running); do kill -s QUIT "$id" 2>/dev/null && asked=1; done
  [ -z "$asked" ] || sleep 1
  [ -z "$group" ] || kill -s KILL -- "-$group" 2>/dev/null
  for id in $(running); do kill -s KILL "$id" 2>/dev/null; done`
const watch = `while read -r line; do group=$line; done ${sweep}
  rm -rf "$0" || { sleep 1; rm -rf "$0"; }`

/** The tests of the mutants script are excluded, because they would copy the copy again. */
const apart = '--exclude=test/mutants/**'
/**
 * Tests normally wait minutes for an expected event, because machines may be slow. With a mutant the event often never happens, so the timeouts are
 * shorter here.
 */
const impatient = ['--testTimeout=120000', '--hookTimeout=120000', '--expect.poll.timeout=30000']
const always = ['--bail=1', '--passWithNoTests', '--reporter=default', apart, ...impatient]

export class Sandbox {
  readonly folder = folderInMemory() ?? mkdtempSync(path.join(tmpdir(), 'pipespan-mutants-'))
  readonly #checkout = path.join(this.folder, 'checkout')
  readonly #temporary = path.join(this.folder, 'tmp')
  readonly #watcher: ChildProcess

  constructor(root: string) {
    // The watcher has its own process group, so that a signal from the terminal ends this process but not the watcher.
    this.#watcher = spawn('sh', ['-c', watch, this.folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
      encoding: 'utf8',
    })
    for (const file of listed.split('\0').filter(one => one !== '' && existsSync(path.join(root, one))))
      cpSync(path.join(root, file), path.join(this.#checkout, file), {
        recursive: true,
        verbatimSymlinks: true,
        preserveTimestamps: true,
      })
    // Packages are copied, not linked, because the bundle refers to its packages by their real paths. Caches are not shared.
    const packages = path.join(root, 'node_modules')
    cpSync(packages, path.join(this.#checkout, 'node_modules'), {
      ...{ recursive: true, verbatimSymlinks: true, preserveTimestamps: true },
      filter: name => !/^node_modules[/\\]\.(?!bin\b)/.test(path.relative(root, name)),
    })
  }

  write(file: string, text: string): void {
    writeFileSync(path.join(this.#checkout, file), text)
  }

  /**
   * Runs tests with these Vitest arguments until the first failure. A failed test file must also fail when it runs alone: a test that fails only
   * alongside other tests fails because of the machine.
   */
  async test(args: readonly string[], timeout: number, part?: 'quick'): Promise<Verdict> {
    for (let tries = 1; ; tries += 1) {
      const verdict = await this.#runOnce(args, timeout, part)
      const file = verdict.kind === 'failed' ? /^test\/\S+\.test\.ts/.exec(verdict.by)?.[0] : undefined
      if (file === undefined || tries === 3) return verdict
      if ((await this.#runOnce(['run', file], timeout, part)).kind !== 'passed') return verdict
    }
  }

  async #runOnce(args: readonly string[], timeout: number, part: 'quick' | undefined): Promise<Verdict> {
    rmSync(this.#temporary, { recursive: true, force: true })
    mkdirSync(this.#temporary, { mode: 0o711 })
    const vitest = path.join(this.#checkout, 'node_modules', 'vitest', 'vitest.mjs')
    const child = spawn(process.execPath, [vitest, ...args, ...always], {
      cwd: this.#checkout,
      env: { ...process.env, TMPDIR: this.#temporary, NO_COLOR: '1', CI: '1', PIPESPAN_TEST_PART: part },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const group = String(child.pid)
    this.#watcher.stdin?.write(`${group}\n`)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const end = (): void => void spawnSync('sh', ['-c', `group=$1 ${sweep}`, this.folder, group])
    const code = await new Promise(resolve => {
      const timer = setTimeout(() => resolve('timeout'), timeout)
      child.once('close', ended => {
        clearTimeout(timer)
        resolve(ended)
      })
    })
    end()
    if (code === 'timeout') return { kind: 'timeout' }
    if (code === 0) return { kind: 'passed' }
    return { kind: 'failed', by: /^ *FAIL +(.*)$/m.exec(output)?.[1] ?? output.trim().split('\n').at(-1) ?? '' }
  }

  async dispose(): Promise<void> {
    const gone = new Promise(resolve => this.#watcher.once('exit', resolve))
    this.#watcher.stdin?.end()
    await gone
  }
}
