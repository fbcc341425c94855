// The ingress thread ends by itself: a daemon that receives nothing must not look alive (decision 7).
import path from 'node:path'
import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'

/** Ends the thread alone, as a fault in it would, when a file appears. */
function endsThread(file: string): string[] {
  const preload = `
    import { existsSync } from 'node:fs'
    import { isMainThread } from 'node:worker_threads'
    if (!isMainThread) setInterval(() => existsSync(${JSON.stringify(file)}) && process.exit(7), 20).unref()`
  return ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
}

it('ends the daemon with an error when its ingress thread dies', async () => {
  const sign = path.join(temporaryFolder(), 'now')
  const daemon = await Daemon.start({}, endsThread(sign))
  writeFileSync(sign, '')
  expect((await daemon.process.ended).code).toBeGreaterThan(0)
  expect(daemon.output).toContain('The ingress thread exited (code 7)')
})
