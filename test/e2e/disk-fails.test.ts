// A disk that does not take what was written, on the shipped daemon: it ends, and the next start has everything.
import { writeFileSync } from 'node:fs'
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
