// Tests the elapsed time of running pipelines and jobs: it is the same on all pages, and advances with the clock.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHouse, pipelineWebhook, type House } from './house.ts'
import { runCommand } from '../e2e/run-command.ts'

const minute = 60_000
const begun = Date.now() - 11 * minute

/** A webhook about a running pipeline: one job passed in the first minute, then another one started. */
function webhook(id: number, title: string): string {
  return pipelineWebhook({
    ...{ id, begun, took: undefined, attributes: { status: 'running' } },
    jobs: [
      { name: 'compile', from: 0, to: 60 },
      { name: 'unit', status: 'running', from: 60 },
    ],
    more: { commit: { id: 'a'.repeat(40), title, message: title } },
  })
}

let house: House
beforeAll(async () => {
  house = await openHouse()
  // The times in the second event are not newer than those in the first.
  for (const title of ['A commit', 'Another title'])
    await house.deliver([{ event: 'Pipeline Hook', body: webhook(1, title) }] as never)
})
afterAll(async () => house.close())

const read = async (path: string): Promise<string> => (await fetch(`${house.url}${path}`)).text()

describe('the elapsed time of a running pipeline', () => {
  it("shows the same elapsed time on the overview, the pipeline's page, its waterfall, in JSON and in `top`, whichever event arrived last", async () => {
    const { running } = JSON.parse(await read('/api/overview')) as { running: { spentMs: number }[] }
    expect(running[0]?.spentMs).toBeGreaterThanOrEqual(11 * minute)
    expect(running[0]?.spentMs).toBeLessThan(12 * minute)
    expect(await read('/')).toMatch(/run-time"\s*><span>11 m \d\d s</)
    const page = await read('/pipelines/3/1')
    expect(page).toMatch(/Took<\/dt>\s*<dd>11 m \d\d s/)
    expect(page).toMatch(/class="ran" aria-hidden="true">11 m \d\d s</)
    const { stdout } = await runCommand(['top', '--url', house.url], { PIPESPAN_WEBHOOK_TOKEN: 'x' })
    expect(stdout).toMatch(/acme\/shop {2}main #1 {2}11 m \d\d s/)
  })

  it('shows the elapsed time of running jobs, too', async () => {
    const { job } = JSON.parse(await read('/api/pipelines/3/1/jobs/101')) as { job: { ranMs: number } }
    expect(job.ranMs).toBeGreaterThanOrEqual(10 * minute)
    expect(await read('/pipelines/3/1/jobs/101')).toMatch(/Took<\/dt>\s*<dd>10 m \d\d s/)
  })
})
