// Tests a daemon whose clock was a year ahead and has been corrected: nothing is delayed by a year.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'

const year = 365 * 24 * 3_600_000

describe('a clock that was a year ahead', () => {
  let file: string
  let receiver: OtlpReceiver
  let daemon: Daemon
  let stopOutage: () => void
  const setClock = (offBy: number): void => writeFileSync(file, String(offBy))
  const pipelines = (): number => new Set(receiver.spans.map(({ traceId }) => traceId)).size
  const post = async (id: number): Promise<void> => {
    const answer = await daemon.post(pipelineEvent({ id }))
    expect(answer.status).toBe(202)
  }

  /** When a test starts, exports are deferred, and a run is still in its settle delay. */
  beforeEach(async () => {
    file = path.join(temporaryFolder(), 'off')
    setClock(year)
    receiver = closeAfterTest(await OtlpReceiver.start())
    stopOutage = receiver.misbehave({ fault: { kind: 'status', status: 503 } })
    daemon = await Daemon.start(
      { CLOCK_OFF_BY: file, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '1500ms' },
      ['--import', path.join(import.meta.dirname, 'set-clock.ts')],
    )
    await post(1)
    await receiver.until((_, { requests }) => requests.length > 0)
    await post(2)
  })

  it('does not delay exports after a restart with a corrected clock', async () => {
    await daemon.kill()
    setClock(0)
    stopOutage()
    await daemon.restart()
    await receiver.until(() => pipelines() === 2)
  })

  it('does not delay exports after the clock is corrected while the daemon runs', async () => {
    setClock(0)
    stopOutage()
    await post(3)
    await receiver.until(() => pipelines() === 3)
    expect(new Set(receiver.spans.map(({ spanId }) => spanId)).size).toBe(receiver.spans.length)
    const ready = async (): Promise<number[]> =>
      Promise.all([daemon.url, daemon.adminUrl].map(async url => (await fetch(`${url}/readyz`)).status))
    expect(await ready()).toEqual([200, 200])
    expect((await daemon.stop()).code).toBe(0)
  })
})
