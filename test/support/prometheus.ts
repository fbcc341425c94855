// Starts a real Prometheus server that scrapes one target. The server has its own data folder and port.
import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { temporaryFolder } from './after-test.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'

export const hasPrometheus = spawnSync('prometheus', ['--version']).error === undefined

export interface Prometheus {
  query(promql: string): Promise<number | undefined>
  /** Returns the number of series in a query result. Throws an error with Prometheus' message if the query fails. */
  count(promql: string): Promise<number>
  /** Waits until a query returns this value. */
  until(promql: string, value: number): Promise<void>
  /** Returns the trace IDs of a series' recent exemplars; there must be at least one. */
  exemplars(series: string): Promise<string[]>
}

/** Starts a server that is stopped after the test. `target` is a URL whose /metrics is scraped twice a second. */
export async function startPrometheus(target: string): Promise<Prometheus> {
  const folder = temporaryFolder()
  const { host } = new URL(target)
  const [port = 0] = await freePorts(1)
  const config = path.join(folder, 'prometheus.yml')
  writeFileSync(
    config,
    `global: { scrape_interval: 500ms, scrape_timeout: 500ms }
scrape_configs:
  - job_name: pipespan
    static_configs: [{ targets: ['${host}'] }]
`,
  )
  const flags = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${path.join(folder, 'data')}`,
    '--enable-feature=exemplar-storage',
  ]
  const server = spawn('prometheus', [...flags, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' })
  const ended = new Promise(resolve => server.once('close', resolve))
  onTestFinished(async () => {
    server.kill()
    await ended
  })
  const query: Prometheus['query'] = async promql => {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(promql)}`
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok !== true) return undefined
    const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } }
    const [found] = data.result
    return found === undefined ? undefined : Number(found.value[1])
  }
  return {
    query,
    count: async promql => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(promql)}`)
      const { data, error } = (await answer.json()) as { data?: { result: unknown[] }; error?: string }
      if (data === undefined) throw new Error(`${promql}: ${error}`)
      return data.result.length
    },
    exemplars: async series => {
      // The query covers 80 years, because exemplars have the timestamps of their pipelines, which are far from the current time in some tests.
      const from = 'start=2020-01-01T00:00:00Z&end=2100-01-01T00:00:00Z'
      const url = `http://127.0.0.1:${port}/api/v1/query_exemplars?query=${encodeURIComponent(series)}&${from}`
      let ids: string[] = []
      await expect
        .poll(async () => {
          const { data } = (await (await fetch(url)).json()) as {
            data: { exemplars: { labels: { trace_id: string } }[] }[]
          }
          ids = data.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id))
          return ids.length
        })
        .toBeGreaterThan(0)
      return ids
    },
    until: async (promql, value) => {
      const deadline = Date.now() + 180_000
      let found: number | undefined
      while ((found = await query(promql)) !== value) {
        if (Date.now() > deadline) throw new Error(`${promql} is ${found}, not ${value}`)
        await sleep(100)
      }
    },
  }
}
