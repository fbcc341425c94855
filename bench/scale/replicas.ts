// Runs three replicas behind a load balancer, and upgrades them one after another while webhooks arrive.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { processorMs, residentBytes, startDaemon, type RunningDaemon } from '../processes.ts'

const root = path.join(import.meta.dirname, '..', '..')

/** Builds the program from an earlier commit, in a folder that is removed when it is disposed of. */
export function buildOf(commit: string): Disposable & { readonly main: string } {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), 'pipespan-scale-')), 'pipespan')
  execFileSync('git', ['clone', '-q', '--no-checkout', root, folder])
  execFileSync('git', ['checkout', '-q', '--detach', commit], { cwd: folder })
  cpSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'), {
    recursive: true,
    verbatimSymlinks: true,
  })
  execFileSync(process.execPath, ['scripts/build.js'], { cwd: folder, stdio: 'ignore' })
  return {
    main: path.join(folder, 'dist', 'main.js'),
    [Symbol.dispose]: () => rmSync(path.dirname(folder), { recursive: true }),
  }
}

interface Replica {
  daemon: RunningDaemon
  pool: Pool
}

export class Replicas implements AsyncDisposable {
  readonly #replicas: Replica[] = []
  readonly #env: Readonly<Record<string, string>>
  readonly #backend: number
  #turn = 0
  /** Total processor time in ms of the replicas that have been stopped. */
  #processorMs = 0
  /** Number of requests to which a replica did not respond. Each was then sent to another replica. */
  sentAgain = 0

  constructor(env: Readonly<Record<string, string>>, backend: number) {
    this.#env = env
    this.#backend = backend
  }

  /** Starts a replica. `main`: the main file of its program; the default is this checkout's build. */
  async start(main?: string): Promise<void> {
    this.#replicas.push(await this.#started(main))
  }

  /**
   * Stops each replica as an orchestrator would and starts this checkout's build in its place. Pauses after each replica before upgrading the next
   * one.
   */
  async upgrade(pauseMs: number): Promise<void> {
    for (let left = this.#replicas.length; left > 0; left -= 1) {
      // A replica is removed from the load balancer before it is stopped.
      const oldest = this.#replicas.shift()
      if (oldest === undefined) return
      await oldest.pool.close()
      this.#processorMs += processorMs(oldest.daemon.pid)
      await oldest.daemon.stop()
      await this.start()
      await sleep(pauseMs)
    }
  }

  /** Posts a webhook to the replicas in turn, trying another one if a replica does not respond. Rejects if no replica accepts it. */
  async post(headers: Record<string, string>, body: string): Promise<void> {
    for (let tries = 0; tries < 20; tries += 1) {
      const replica = this.#replicas[this.#turn++ % this.#replicas.length]
      const answer = await replica?.pool
        .request({ method: 'POST', path: '/webhooks', headers, body })
        .catch(() => undefined)
      await answer?.body.dump()
      if (answer?.statusCode === 202 || answer?.statusCode === 200) return
      this.sentAgain += 1
    }
    throw new Error('No replica accepted a webhook.')
  }

  /** The total processor time of all replicas, ms, and the resident memory of each running one, bytes. */
  usage(): { processorMs: number; residentBytes: number[] } {
    const pids = this.#replicas.map(({ daemon }) => daemon.pid)
    return {
      processorMs: pids.reduce((sum, pid) => sum + processorMs(pid), this.#processorMs),
      residentBytes: pids.map(residentBytes),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { daemon, pool } of this.#replicas) {
      await pool.destroy()
      await daemon[Symbol.asyncDispose]()
    }
  }

  async #started(main: string | undefined): Promise<Replica> {
    const daemon = await startDaemon({ backend: this.#backend, env: this.#env, ...(main !== undefined && { main }) })
    return { daemon, pool: new Pool(`http://127.0.0.1:${daemon.port}`, { connections: 20, headersTimeout: 10_000 }) }
  }
}
