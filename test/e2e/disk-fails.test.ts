// A disk that does not take what was written, or does not give it back, on the shipped daemon: nothing that was accepted is lost.
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { OtlpReceiver, patient } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { Daemon, ProgramProcess, temporaryFolder } from './daemon.ts'

/** Syncs end when there is this file, and fail: the daemon also writes without being asked, and would end before it is. */
const failing = (sign: string): string => `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  fs.fdatasync = (_, then) => {
    const waiting = setInterval(() => {
      if (!fs.existsSync(${JSON.stringify(sign)})) return
      clearInterval(waiting)
      then(new Error('EIO: i/o error, fdatasync'))
    }, 5)
  }
  syncBuiltinESMExports()`

it('ends with what to do when a sync fails, as nobody knows what is on the disk then, and loses nothing', async () => {
  const receiver = await OtlpReceiver.start()
  onTestFinished(async () => receiver.close())
  const env = { ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '0s' }
  const sign = path.join(temporaryFolder(), 'fails')
  const daemon = await Daemon.start(env, ['--import', `data:text/javascript,${encodeURIComponent(failing(sign))}`])
  const answer = await daemon.post(pipelineEvent({ id: 1, jobs: 1 }), { 'x-service-event': 'Pipeline Hook' })
  expect(answer.status).toBe(202)
  writeFileSync(sign, '')
  expect(await daemon.process.ended).toEqual({ code: 1, signal: null })
  const last = daemon.process.log.find(({ level }) => level === 60)
  expect(last?.msg).toMatch(/The disk did not take what was written to the store: EIO.*Check the disk/)

  const next = new ProgramProcess(['serve'], daemon.env)
  onTestFinished(async () => {
    next.child.kill()
    await next.ended
  })
  await receiver.until(spans => new Set(spans.map(({ spanId }) => spanId)).size === 2)
})

/** While there is this file, nothing can be read of the deliveries beside the store. */
const unreadable = (sign: string): string => `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { readSync } = fs
  fs.readSync = (descriptor, ...others) => {
    if (fs.existsSync(${JSON.stringify(sign)}) && fs.readlinkSync('/proc/self/fd/' + descriptor).includes('-deliveries/'))
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
    return readSync(descriptor, ...others)
  }
  syncBuiltinESMExports()`

it('gives up no delivery because it could not be read for some seconds, and exports each once when it can', async () => {
  const receiver = await OtlpReceiver.start()
  onTestFinished(async () => receiver.close())
  const env = { ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '0s' }
  const sign = path.join(temporaryFolder(), 'unreadable')
  writeFileSync(sign, '')
  const daemon = await Daemon.start(env, ['--import', `data:text/javascript,${encodeURIComponent(unreadable(sign))}`])
  const pipelines = Array.from({ length: 60 }, (_, at) => at + 1)
  const post = async (id: number): Promise<number> => {
    const headers = { 'x-service-event': 'Pipeline Hook', 'idempotency-key': `delivery ${id}` }
    return (await daemon.post(pipelineEvent({ id }), headers)).status
  }
  for (const id of pipelines.slice(0, 30)) expect(await post(id)).toBe(202)
  await daemon.kill()
  await daemon.restart()
  const saidSetAside = /cannot be read.*are skipped/
  await expect.poll(() => daemon.output, { timeout: 20_000 }).toMatch(saidSetAside)
  for (const id of pipelines.slice(30)) expect(await post(id)).toBe(202)
  rmSync(sign)
  await daemon.kill()
  await daemon.restart()
  await receiver.until(spans => new Set(spans.map(({ traceId }) => traceId)).size === pipelines.length)
  // By its key, each is known.
  for (const id of pipelines) expect(await post(id)).toBe(200)
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  expect(receiver.spans.length).toBe(new Set(receiver.spans.map(({ spanId }) => spanId)).size)
})
