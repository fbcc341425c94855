// Tests how the daemon starts, how it stops, and how it reloads its secrets on a signal.
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { Agent, request } from 'undici'
import { startReceiver } from '../support/otlp-receiver.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { Daemon, ProgramProcess, run, webhookToken } from './daemon.ts'
import { runCommand } from './run-command.ts'
import { complete, differences } from './truth.ts'
import { makeLoad } from './load.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'

const { version } = JSON.parse(readFileSync(path.join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')) as {
  version: string
}
const tls = (name: string): string => path.join(import.meta.dirname, '..', 'fixtures', 'tls', name)
const pipelineHook = { 'x-service-event': 'Pipeline Hook' }

describe('daemon start', () => {
  /** A daemon that keeps running while other daemons start and stop. */
  let first: Daemon
  beforeAll(async () => {
    first = await Daemon.startForAll({ PIPESPAN_WEBHOOK_TOKEN: '' })
    return async () => first.dispose()
  })

  it('refuses to listen on a reachable address without a webhook secret, and names the remedy', async () => {
    const daemon = Daemon.launch({ PIPESPAN_WEBHOOK_TOKEN: '', PIPESPAN_LISTEN: '0.0.0.0:0' })
    expect(await daemon.process.ended).toEqual({ code: 2, signal: null })
    expect(daemon.output).toMatch(/there is no webhook secret.*PIPESPAN_WEBHOOK_TOKEN|webhook\.token.*loopback/s)
  })

  it('starts on a loopback address without a webhook secret, and logs that it is missing', async () => {
    const { level } = await first.process.logged('There is no webhook secret')
    expect(level).toBe(40)
    expect((await first.post('{}', { ...pipelineHook, 'x-service-token': '' })).status).toBe(202)
  })

  it('exits with 1 if its address is already in use, and names the address', async () => {
    const taken = new URL(first.url).host
    const second = Daemon.launch({ PIPESPAN_LISTEN: taken })
    expect(await second.process.ended).toEqual({ code: 1, signal: null })
    expect(second.output).toContain(taken)
  })

  it("exits if another daemon serves the store, and names that daemon's process and host, but starts if that daemon was killed", async () => {
    const second = await run(['serve'], first.env)
    expect(second.code).toBe(1)
    const message = `process ${first.process.child.pid} on ${hostname()}`
    expect(second.stderr).toContain(message)
    expect(second.stderr).toContain('PIPESPAN_STORE_URL')
    expect((await first.post('{}')).status).toBe(202)
    expect((await first.command('inbox', 'list')).code).toBe(0)
    await first.kill()
    await first.restart()
  })
})

describe('SIGHUP', () => {
  it('loads a renewed certificate and changed secrets on SIGHUP, logs which changes need a restart, and keeps its settings if the file is invalid', async () => {
    const folder = temporaryFolder()
    const [file, token] = [path.join(folder, 'pipespan.yaml'), path.join(folder, 'token')]
    const files = { cert: path.join(folder, 'cert.pem'), key: path.join(folder, 'key.pem') }
    const install = (name: string): void => {
      writeFileSync(files.cert, readFileSync(tls(`${name}.cert.pem`)))
      writeFileSync(files.key, readFileSync(tls(`${name}.key.pem`)))
    }
    install('first')
    writeFileSync(file, 'settle: 1s\nstore: { max_size: 1GiB }\n')
    writeFileSync(token, 'first-secret\n')
    const daemon = await Daemon.start({
      PIPESPAN_CONFIG: file,
      PIPESPAN_SETTLE: '',
      PIPESPAN_WEBHOOK_TOKEN: '',
      PIPESPAN_WEBHOOK_TOKEN_FILE: token,
      PIPESPAN_TLS_CERT_FILE: files.cert,
      PIPESPAN_TLS_KEY_FILE: files.key,
    })
    expect(daemon.url).toMatch(/^https:/)
    /** Sends a request on a new connection to a server that must identify itself with this certificate. */
    const ask = async (name: string, url: string, options: Parameters<typeof request>[1] = {}): Promise<number> => {
      const ca = readFileSync(tls(`${name}.cert.pem`))
      const dispatcher = new Agent({ connect: { ca, checkServerIdentity: () => undefined } })
      try {
        const { statusCode, body } = await request(url, { ...options, dispatcher })
        await body.dump()
        return statusCode
      } finally {
        await dispatcher.destroy()
      }
    }
    const ready = async (name: string): Promise<number> => ask(name, `${daemon.url}/readyz`)
    const statusWith = async (name: string, secret: string): Promise<number> => {
      const headers = { ...pipelineHook, 'content-type': 'application/json', 'x-service-token': secret }
      return ask(name, daemon.webhooks, { method: 'POST', headers, body: '{}' })
    }
    const statuses = async (name: string): Promise<number[]> =>
      Promise.all(['first-secret', 'second-secret'].map(async secret => statusWith(name, secret)))
    expect(await ready('first')).toBe(200)
    await expect(ready('second')).rejects.toThrow()
    expect(await statuses('first')).toEqual([202, 401])

    install('second')
    writeFileSync(token, 'second-secret\n')
    writeFileSync(file, 'settle: 1s\nstore: { max_size: 2GiB }\n')
    daemon.signal('SIGHUP')
    await daemon.process.logged('secrets reloaded')
    await expect.poll(async () => ready('second').catch(() => 0)).toBe(200)
    await expect(ready('first')).rejects.toThrow()
    await expect.poll(async () => statuses('second')).toEqual([401, 202])
    expect((await daemon.process.logged('needs a restart')).msg).toMatch(/^store.max_size: 2GiB .* 1GiB stays in use/)

    writeFileSync(file, 'settle: never\n')
    writeFileSync(token, 'third-secret\n')
    daemon.signal('SIGHUP')
    await daemon.process.logged('was not reloaded')
    expect(await ready('second')).toBe(200)
    expect(daemon.output).not.toMatch(/(first|second|third)-secret/)
  })
})

describe('daemon shutdown', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'keeps accepted deliveries if %s stops the daemon as soon as it is ready, before everything has started',
    async signal => {
      const receiver = await startReceiver()
      const { deliveries, truths } = makeLoad({ seed: 53, pipelines: 2, webhooks: 0, scenarios: ['small'] })
      const [port = 0] = await freePorts(1)
      const listens = { PIPESPAN_LISTEN: `127.0.0.1:${port}`, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }
      const daemon = Daemon.launch({ ...listens, PIPESPAN_SETTLE: '1ms' })
      const url = `http://127.0.0.1:${port}`
      const isReady = async (): Promise<boolean> =>
        fetch(`${url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        )
      while (!(await isReady())) await setImmediate()
      const answers = await Promise.all(
        deliveries.map(async ({ body, kind }) => {
          const headers = { 'content-type': 'application/json', ...pipelineHookOf(kind) }
          return (await fetch(`${url}/webhooks`, { method: 'POST', body, headers })).status
        }),
      )
      expect(new Set(answers)).toEqual(new Set([202]))
      daemon.signal(signal)
      expect(await daemon.process.ended).toEqual({ code: 0, signal: null })
      await daemon.restart()
      await receiver.until(complete(truths))
      expect(differences(truths, receiver.spans)).toEqual([])
    },
  )

  it.each([[['SIGTERM']], [['SIGHUP', 'SIGINT']]] as const)(
    'exits if it gets a stop signal during startup (%j)',
    async signals => {
      const daemon = Daemon.launch()
      await daemon.process.logged('pipespan starts')
      for (const name of signals) daemon.signal(name)
      expect(await daemon.process.ended).toEqual({ code: 0, signal: null })
    },
  )

  it('keeps unsettled runs in the store across a restart, exports everything due, and exits with 0 when stopped', async () => {
    const { deliveries, truths } = makeLoad({ seed: 51, pipelines: 25, webhooks: 0, scenarios: ['small'] })
    const earlyIds = new Set(truths.slice(0, 5).map(({ id }) => id))
    const isEarly = ({ pipelineId }: Delivery): boolean => earlyIds.has(pipelineId)
    const post = async (some: readonly Delivery[]): Promise<void> => {
      const answers = await Promise.all(some.map(async one => daemon.post(one.body, pipelineHookOf(one.kind))))
      expect(answers.every(({ status }) => status === 202)).toBe(true)
    }
    const receiver = await startReceiver()
    const clock = path.join(temporaryFolder(), 'off')
    writeFileSync(clock, '0')
    const env = { CLOCK_OFF_BY: clock, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '1h' }
    const daemon = await Daemon.start(env, ['--import', path.join(import.meta.dirname, 'set-clock.ts')])
    await post(deliveries.filter(isEarly))
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    expect(receiver.spans).toEqual([])
    writeFileSync(clock, String(2 * 3_600_000))
    // With no settle delay, runs that are merged during shutdown are due at once.
    await daemon.restart({ PIPESPAN_SETTLE: '0s' })
    await post(deliveries.filter(one => !isEarly(one)))
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    expect(complete(truths)(receiver.spans)).toBe(true)
    expect(differences(truths, receiver.spans)).toEqual([])
    expect(daemon.process.log.at(-1)?.msg).toBe('stopped')
  })

  it('waits for a slow backend on shutdown, ignores a SIGHUP meanwhile, and exits at once on a second signal', async () => {
    const { deliveries } = makeLoad({ seed: 52, pipelines: 1, webhooks: 0, scenarios: ['small'] })
    const receiver = await startReceiver()
    receiver.misbehave({ fault: { kind: 'hang' } })
    const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '1ms' })
    await Promise.all(deliveries.map(one => daemon.post(one.body, pipelineHookOf(one.kind))))
    await receiver.until((_spans, { requests }) => requests.length > 0)
    daemon.signal('SIGTERM')
    await daemon.process.logged('send a second signal to exit immediately')
    const answers = async (): Promise<boolean> =>
      fetch(`${daemon.url}/healthz`).then(
        () => true,
        () => false,
      )
    await expect.poll(answers).toBe(false)
    daemon.signal('SIGHUP')
    // The second signal must come at least half a second after the first. An earlier one counts as the same signal, forwarded by npm.
    let ended: { code: number | null; signal: string | null } | undefined
    void daemon.process.ended.then(how => (ended = how))
    const signalled = (): unknown => {
      if (ended === undefined) daemon.signal('SIGTERM')
      return ended
    }
    await expect.poll(signalled).toEqual({ code: 1, signal: null })
  })
})

describe('the command line', () => {
  it.each([
    [['--version'], `${version}\n`],
    [['--help'], 'Exit codes: 0 done; 1 failed; 2'],
    [['serve', '--help'], 'PIPESPAN_WEBHOOK_TOKEN'],
  ])('exits with 0 when called with %j', async (args, description) => {
    const { code, stdout, stderr } = await runCommand(args)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(description)
  })

  it('exits with 2 and points to the help for an unknown command or option', async () => {
    const ended = await runCommand(['srve'])
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain('--help')
  })

  it('prints its version even on a Node.js that is too old, and names the required Node.js version for any other command', async () => {
    const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.4' } })`
    const old = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`]
    const asked = new ProgramProcess(['--version'], {}, old)
    expect(await asked.ended).toEqual({ code: 0, signal: null })
    expect(asked.stdout).toBe(`${version}\n`)
    const started = new ProgramProcess(['serve'], {}, old)
    expect(await started.ended).toEqual({ code: 2, signal: null })
    expect(started.stderr).toMatch(/needs Node\.js 22\.19 or newer; this is 20\.19\.4/)
  })
})

function pipelineHookOf(kind: Delivery['kind']): Record<string, string> {
  return { 'x-service-event': kind === 'pipeline' ? 'Pipeline Hook' : 'Job Hook', 'x-service-token': webhookToken }
}
