// Tests how regressions are shown on the overview, in trends, on their own page and in the JSON API, and previews with another rule.
import { countFigures } from '../../support/counted-figures.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, expectReadableAt, launch, openContext } from '../../console/browser.ts'
import { foundRegressions, regressionsOf } from '../../../src/features/regressions/documents.ts'
import { judgeOf } from './judge.ts'
import { listRegressions } from '../../../src/features/regressions/list-command.ts'
import { openHouse, until, type House } from '../../console/house.ts'

const day = 24 * 3_600_000
const today = Math.floor(Date.now() / day) * day
const perDay = 4
const project = { id: 3, name: 'shop', path_with_namespace: 'acme/shop', web_url: 'https://git.example.com/acme/shop' }

function webhook(id: number, start: number, e2e: number, runner: string): string {
  const at = (seconds: number): string => new Date(start + seconds * 1_000).toISOString()
  const job = (index: number, name: string, from: number, to: number) => ({
    ...{ id: id * 10 + index, name, stage: 'test', status: 'success', created_at: at(0) },
    ...{ started_at: at(from), finished_at: at(to), runner: { id: 1, description: runner, runner_type: runner } },
  })
  return JSON.stringify({
    object_kind: 'pipeline',
    user: { username: 'alice' },
    object_attributes: {
      ...{ id, ref: 'main', status: 'success', source: 'push', sha: String(id).repeat(10).slice(0, 40) },
      ...{ created_at: at(0), finished_at: at(90 + e2e) },
    },
    project: { ...project, default_branch: 'main' },
    builds: [job(0, 'compile', 5, 65), job(1, 'e2e', 70, 70 + e2e)],
  })
}

let house: House
beforeAll(async () => {
  house = await openHouse({ PIPESPAN_REMEMBER: '400d' })
  const deliveries = Array.from({ length: 14 * perDay }, (_, run) => {
    const start = today - 14 * day + Math.floor(run / perDay) * day + (run % perDay) * 3_600_000
    const isSlow = run >= 11 * perDay
    return {
      kind: 'pipeline',
      body: webhook(1_000 + run, start, isSlow ? 620 : 300 + (run % 3) * 5, isSlow ? 'small' : 'large'),
    }
  })
  for (const { body } of deliveries) await house.post(body)
  const { runs } = house.daemon.store
  await until(async () => (await runs.count()).open === 0 && (await runs.count()).runs === deliveries.length)
  await countFigures(house.daemon.store)
  // The test runs the judge itself, because the daemon runs its own only every ten seconds.
  await judgeOf(house.daemon.store).judgeAll()
})
afterAll(async () => house.close())

async function api<T>(path: string, status = 200): Promise<T> {
  const answer = await fetch(`${house.url}/api${path}`)
  expect([path, answer.status]).toEqual([path, status])
  return (await answer.json()) as T
}
async function page(path: string): Promise<string> {
  return (await fetch(`${house.url}${path}`, { headers: { accept: 'text/html' } })).text()
}

interface Listed {
  readonly job: string
  readonly kind: string
  readonly cause: string
  readonly first: { readonly pipelineId: number }
}

describe('regressions on the pages', () => {
  it('shows a regression on the overview, in trends and in its own list, with its first bad run and the likely cause', async () => {
    const { regressions } = await api<{ regressions: Listed[] }>('/trends/regressions')
    expect(regressions).toHaveLength(1)
    expect(regressions[0]).toMatchObject({ job: 'e2e', kind: 'slower', first: { pipelineId: 1_000 + 11 * perDay } })
    expect(regressions[0]?.cause).toBe(
      'Since then it runs on small runners; previously mostly on large runners. It began with commit 10441044 by alice.',
    )
    const overview = await api<{ regressions: Listed[]; regressionCount: number; fixFirst: { fixes: unknown } }>(
      '/overview',
    )
    expect([overview.regressions, overview.regressionCount]).toEqual([regressions, 1])
    expect(overview.fixFirst.fixes).toMatchObject([{ kind: 'regression', subject: 'e2e', project: 'acme/shop' }])
    expect((await api<{ regressions: Listed[] }>('/trends?project=3&span=30d')).regressions).toEqual(regressions)
    expect((await api<{ regressions: Listed[] }>('/trends?project=3&job=compile&span=30d')).regressions).toEqual([])
    for (const path of ['/', '/trends?project=3&span=30d', '/trends/regressions']) {
      const text = await page(path)
      expect(text).toContain('/pipelines/3/1044/jobs/10441')
      expect(text).toContain('small runners')
    }
    expect(await page('/trends?project=3&job=e2e&span=30d')).toContain('class="mark"')
  })

  it('lists regressions in a terminal', async () => {
    const lines: string[] = []
    const stdout = { write: (text: string) => lines.push(text) } as unknown as NodeJS.WriteStream
    const list = async (json: boolean) =>
      listRegressions(
        await regressionsOf(house.daemon.store, {}),
        { stdout, stderr: stdout, env: {} },
        { json, all: false },
      )
    expect(await list(false)).toBe(0)
    expect(lines.join('')).toMatch(
      /acme\/shop +default +#1044 +Job e2e takes 10 m 20 s, up from 4 m 59 s +Since then it runs on/,
    )
    lines.length = 0
    expect(await list(true)).toBe(0)
    const read = JSON.parse(lines.join('')) as { regressions: Listed[] }
    expect(read).toEqual(await api('/trends/regressions'))
  })

  it('previews regressions under another rule without changing anything', async () => {
    const preview = async (rule: string) =>
      api<{ found: Listed[]; pipelines: number }>(`/trends/regressions/preview/3${rule}`)
    expect((await preview('')).found.map(({ job }) => job)).toEqual(['e2e'])
    expect((await preview('')).pipelines).toBe(14 * perDay)
    expect((await preview('?slower=150')).found).toEqual([])
    expect((await preview('?slower_by=600')).found).toEqual([])
    expect(await api('/trends/regressions/preview/99')).toMatchObject({ pipelines: 0, found: [] })
    await api('/trends/regressions/preview/3?slower=1', 400)
    expect(await page('/trends/regressions?project=3')).toContain('/pipelines/3/1044/jobs/10441')
    const none = await page('/trends/regressions?project=3&slower=150')
    expect(none).toContain('Nothing would have been flagged.')
    expect(none).toContain('PIPESPAN_REGRESSIONS_SLOWER=150')
    expect(await house.daemon.store.repositories.of(foundRegressions).all()).toHaveLength(1)
  })

  it.skipIf(chromiumPath === undefined)(
    'shows accessible regression pages, wide and narrow, light and dark',
    async () => {
      const browser = await launch()
      try {
        const shown = await (await openContext(browser)).newPage()
        for (const path of ['/', '/trends?project=3&job=e2e&span=30d', '/trends/regressions?project=3'])
          await expectReadableAt(shown, house.url + path, shown.getByText('small runners'))
      } finally {
        await browser.close()
      }
    },
  )
})
