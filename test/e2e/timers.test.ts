// Errors in timers and callbacks: none of them ends the daemon.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { Daemon, webhookToken } from './daemon.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'

const source = path.join(import.meta.dirname, '..', '..', 'src')
/** What every other file uses, and what has a timer only while the rest of a refused body is read. */
const exempt = [path.join('lib', 'timer.ts'), path.join('daemon', 'listeners', 'whole-requests.ts')]
/** Every file that sets a timer which goes off again and again for as long as the daemon lives. */
const setting = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  file =>
    file.endsWith('.ts') &&
    /(?<!\.)\bevery\(\w/.test(readFileSync(path.join(source, file), 'utf8')) &&
    !exempt.includes(file),
)

it('survives every timer without a free descriptor, and works again afterwards', async () => {
  const folder = temporaryFolder()
  const [sign, reported, token] = ['starved', 'reported', 'token'].map(name => path.join(folder, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(token, webhookToken)
  const config = path.join(folder, 'pipespan.yaml')
  writeFileSync(config, 'settle: 1s\n')
  writeFileSync(reported, '')
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const daemon = await Daemon.start(
    {
      STARVE_WHILE: sign,
      STARVE_TELL: reported,
      ...{ PIPESPAN_CONFIG: config, PIPESPAN_CONFIG_WATCH: 'true' },
      PIPESPAN_WEBHOOK_TOKEN: undefined,
      PIPESPAN_WEBHOOK_TOKEN_FILE: token,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    },
    ['--import', path.join(import.meta.dirname, 'starving.ts')],
  )
  const post = async (id: number): Promise<number> => (await daemon.post(pipelineEvent({ id }))).status
  const pipelines = (): number => new Set(receiver.spans.map(({ traceId }) => traceId)).size
  expect(await post(1)).toBe(202)
  await receiver.until(() => pipelines() === 1)
  writeFileSync(sign, '')
  // Each went off while it could open nothing, twice: the first time did not stop it.
  const wentOff = (): string[] => readFileSync(reported, 'utf8').split('\n')
  const resting = (): string[] => setting.filter(file => wentOff().filter(one => one === file).length < 2)
  await expect.poll(resting).toEqual([])
  expect(await post(2)).toBe(503)
  rmSync(sign)
  await expect.poll(async () => post(2)).toBe(202)
  // Whoever could not work for long looks a minute later at the latest.
  await receiver.until(() => pipelines() === 2)
  expect(daemon.process.child.exitCode).toBe(null)
  expect((await daemon.stop()).code).toBe(0)
})

/** Throws where nobody can catch it when a file appears. */
function failing(sign: string): string[] {
  const preload = `
    import { existsSync } from 'node:fs'
    const fail = () => { throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' }) }
    const looking = setInterval(() => {
      if (!existsSync(${JSON.stringify(sign)})) return
      clearInterval(looking)
      setImmediate(fail)
      process.nextTick(fail)
      void Promise.reject(new Error('a promise that nobody waits for'))
    }, 20).unref()`
  return ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
}

it('survives an uncaught error in a callback, and logs it', async () => {
  const sign = path.join(temporaryFolder(), 'now')
  const daemon = await Daemon.start({}, failing(sign))
  writeFileSync(sign, '')
  const reported = (): number => daemon.process.log.filter(({ msg }) => msg.includes('unexpected error')).length
  await expect.poll(reported).toBe(3)
  expect((await daemon.post(pipelineEvent({ id: 1 }))).status).toBe(202)
  expect((await daemon.stop()).code).toBe(0)
})
