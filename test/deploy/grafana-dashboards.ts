// The dashboards that we ship, with their queries in a form that Prometheus can parse.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: { readonly uid: string }
  readonly targets?: readonly { readonly expr?: string; readonly datasource: { readonly uid: string } }[]
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly definition?: string; readonly query: unknown }[]
  }
  readonly annotations: { readonly list: readonly { readonly expr: string }[] }
  readonly panels: readonly Panel[]
}

const folder = path.join(import.meta.dirname, '..', '..', 'deploy', 'grafana')
export const files = readdirSync(folder).filter(name => name.endsWith('.json'))
export const dashboards = files.map(
  name => [name, JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as Dashboard] as const,
)

/** Replaces Grafana's built-in variables with values that PromQL can parse. */
export function promqlOf(expr: string): string {
  return expr
    .replaceAll('$__rate_interval', '5m')
    .replaceAll('$__range_s', '3600')
    .replaceAll('$__range', '1h')
    .replaceAll(/\$\w+/g, '.*')
}

export function expressionsOf({ panels, templating, annotations }: Dashboard): string[] {
  const queries = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => expr ?? []))
  const variables = templating.list.flatMap(
    ({ definition = '' }) => /^label_values\((\w+|\{.*\}), (\w+)\)$/.exec(definition)?.[1] ?? [],
  )
  return [...queries, ...variables, ...annotations.list.map(({ expr }) => expr)].map(promqlOf)
}
