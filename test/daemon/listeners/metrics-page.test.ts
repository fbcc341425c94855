// What `/metrics` shows of names that people have written.
import Fastify from 'fastify'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { expect, onTestFinished, test } from 'vitest'
import { metricsPageOf } from './metrics-pages.ts'

class OnDemand extends MetricReader {
  protected async onForceFlush(): Promise<void> {
    await Promise.resolve()
  }
  protected async onShutdown(): Promise<void> {
    await Promise.resolve()
  }
}

async function shown(names: readonly string[]): Promise<string> {
  const reader = new OnDemand()
  const provider = new MeterProvider({ readers: [reader] })
  const app = Fastify()
  onTestFinished(async () => {
    await app.close()
    await provider.shutdown()
  })
  const gauge = provider.getMeter('test').createGauge('jobs', { description: 'Jobs.\r\u001b[2J' })
  for (const name of names) gauge.record(1, { name })
  await app.register(metricsPageOf({ own: async () => (await reader.collect()).resourceMetrics.scopeMetrics }))
  return (await app.inject('/metrics')).body
}

test('escapes control characters in names and descriptions, and keeps distinct names distinct', async () => {
  const body = await shown([
    'a\rb',
    'a\u001b[31mb',
    'a\u0000b',
    'a\u0001b',
    'a\u007fb',
    'a\u009bb',
    'a\tb',
    'a\nb',
    'ä "b" \\',
  ])
  expect(body).not.toMatch(/[^\P{Cc}\n]/u)
  expect(body.split('\n').filter(line => line.startsWith('jobs{'))).toEqual([
    String.raw`jobs{name="a\\u000db"} 1`,
    String.raw`jobs{name="a\\u001b[31mb"} 1`,
    String.raw`jobs{name="a\\u0000b"} 1`,
    String.raw`jobs{name="a\\u0001b"} 1`,
    String.raw`jobs{name="a\\u007fb"} 1`,
    String.raw`jobs{name="a\\u009bb"} 1`,
    String.raw`jobs{name="a\\u0009b"} 1`,
    String.raw`jobs{name="a\nb"} 1`,
    String.raw`jobs{name="ä \"b\" \\"} 1`,
  ])
  expect(body).toContain(String.raw`# HELP jobs Jobs.\\u000d\\u001b[2J`)
})
