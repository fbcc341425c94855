// Tests a daemon that temporarily runs out of file descriptors: it keeps running, and accepts deliveries again once some are available.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { Daemon, webhookToken } from '../e2e/daemon.ts'
import { pipelineBody } from './honest.ts'

/** Returns the Node.js arguments for code that opens all available file descriptors while `file` exists, until `${file}.end` exists. */
function descriptorHog(file: string): string[] {
  const preload = `
    import { closeSync, existsSync, openSync } from 'node:fs'
    import { isMainThread } from 'node:worker_threads'
    const held = []
    const take = () => {
      if (existsSync(${JSON.stringify(`${file}.end`)})) {
        for (const one of held.splice(0)) closeSync(one)
        return
      }
      if (existsSync(${JSON.stringify(file)})) try { for (;;) held.push(openSync('/dev/null')) } catch {}
    }
    if (isMainThread) setInterval(take, 5).unref()`
  return ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
}

it('survives running out of file descriptors, and accepts deliveries again once some are available', async () => {
  const trigger = path.join(temporaryFolder(), 'now')
  const daemon = await Daemon.start({}, descriptorHog(trigger), 256)
  const headers = { 'x-service-event': 'Pipeline Hook' }
  writeFileSync(trigger, '')
  let refused = 0
  for (let at = 0; refused < 20; at += 1) {
    // If there is no descriptor left even to reject a connection, the connection waits in the kernel's queue.
    const signal = AbortSignal.timeout(2_000)
    const whole = {
      'content-type': 'application/json',
      'x-service-token': webhookToken,
      ...headers,
      connection: 'close',
    }
    await fetch(daemon.webhooks, { method: 'POST', headers: whole, body: pipelineBody(100 + at), signal }).then(
      async answer => answer.body?.cancel(),
      () => (refused += 1),
    )
  }
  expect(daemon.process.child.exitCode).toBeNull()
  writeFileSync(`${trigger}.end`, '')
  const taken = async (): Promise<number> =>
    daemon.post(pipelineBody(1), headers).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(taken).toBe(202)
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
})
