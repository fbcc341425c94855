// Tests that an uncaught error does not end the daemon.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'

/** Returns Node.js arguments for code that throws when a file appears, where no other code can catch the error. */
function failing(trigger: string): string[] {
  const preload = `
    import { existsSync } from 'node:fs'
    const fail = () => { throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' }) }
    const looking = setInterval(() => {
      if (!existsSync(${JSON.stringify(trigger)})) return
      clearInterval(looking)
      setImmediate(fail)
      process.nextTick(fail)
      void Promise.reject(new Error('a rejected promise without a handler'))
    }, 20).unref()`
  return ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
}

it('survives an uncaught error in a callback, and logs it', async () => {
  const trigger = path.join(temporaryFolder(), 'now')
  const daemon = await Daemon.start({}, failing(trigger))
  writeFileSync(trigger, '')
  const reported = (): number => daemon.process.log.filter(({ msg }) => msg.includes('unexpected error')).length
  await expect.poll(reported).toBe(3)
  expect((await daemon.post(pipelineEvent({ id: 1 }))).status).toBe(202)
  expect((await daemon.stop()).code).toBe(0)
})
