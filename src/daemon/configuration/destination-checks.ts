// Checks for destinations: names, header templates such as `tenant-{group}`, and endpoints that are valid but probably unintended.
import { describeSource, type ConfigFault, type FaultOf, type Source, type Wrong } from './config-fault.ts'
import { hasDefaultDestination, withPath } from './destinations.ts'
import { isGrpcPort, isOtlpGrpc } from '../../lib/wrong-service.ts'
import { namesIn } from '../../lib/template.ts'
import { signals, type Signal } from './telemetry-options.ts'
import type { Config } from './options.ts'

type Rule = Config['attributes']['rules'][number]
type SourceOf = (setting: string) => Source

export function wrongDestinations({ destinations, attributes: { rules } }: Config, faultOf: FaultOf): ConfigFault[] {
  const all = destinations.map(({ name }) => name)
  return destinations.flatMap(({ name, headers }, index) => {
    const path = `destinations[${index}]`
    // Destination names must be unique, because pending exports are stored under them.
    const isRepeated = all.indexOf(name) !== index
    const twice = isRepeated ? [faultOf(`${path}.name`, `The name ${name} is already used.`, 'Use another name.')] : []
    const templates = [...(headers.current()?.values() ?? [])].flatMap(value => namesIn(value.reveal()))
    const wrong = [...new Set(templates)].flatMap(template => wrongTemplate(template, rules) ?? [])
    return [...twice, ...wrong.map(({ what, remedy }) => faultOf(`${path}.headers`, what, remedy))]
  })
}

/**
 * Returns what is wrong with a header template; undefined if it is valid. Its value may depend only on the project, because all data in a request
 * shares one set of headers.
 */
function wrongTemplate(name: string, rules: readonly Rule[]): Wrong | undefined {
  if (name === 'group' || name === 'project.id' || name === 'platform') return undefined
  if (!name.startsWith('own.')) {
    return {
      what: `{${name}} is no template.`,
      remedy:
        'Use {platform}, {group}, {project.id}, or {own.NAME}, where NAME is an attribute that attributes.rules sets.',
    }
  }
  const own = name.slice('own.'.length)
  const setters = rules.filter(({ set }) => Object.hasOwn(set, own))
  if (setters.length === 0) {
    return { what: `{${name}} has no value: no rule sets ${own}.`, remedy: `Set ${own} in attributes.rules.` }
  }
  if (setters.every(isOfProject(own))) return undefined
  return {
    what: `{${name}} depends on more than the project.`,
    remedy: `Set ${own} to a literal value, not to a label or a variable, in rules without branches, sources and jobs.`,
  }
}

function isOfProject(name: string): (rule: Rule) => boolean {
  return ({ set, branches, sources, jobs }) =>
    typeof set[name] === 'string' &&
    branches === undefined &&
    [sources, jobs].every(({ include = [], exclude = [] }) => include.length + exclude.length === 0)
}

export function suspiciousDestinations(config: Config, sourceOf: SourceOf): string[] {
  return [
    ...unusedToken(config, sourceOf),
    ...nothingExported(config, sourceOf),
    ...suspiciousEndpoints(config, sourceOf),
  ]
}

function unusedToken(config: Config, sourceOf: SourceOf): string[] {
  const source = sourceOf('observability.token')
  if (source.from === 'default' || hasDefaultDestination(config)) return []
  return [
    `${describeSource(source)}: observability.token is only sent to the destination "default", which does not exist. ` +
      'Set otlp.endpoint (OTEL_EXPORTER_OTLP_ENDPOINT), or give destinations their own token_file.',
  ]
}

/**
 * Warns if nothing is exported. If an operator forgets to remove `none` from the settings, the daemon looks healthy while the backend stays empty.
 */
function nothingExported({ observability }: Config, sourceOf: SourceOf): string[] {
  if (observability.export.length > 0) return []
  const what = 'Nothing is exported; pipelines are only shown on the pages. To export, name traces, metrics or logs.'
  return [`${describeSource(sourceOf('observability.export'))}: ${what}`]
}

interface Endpoint {
  /** The path of the setting that contains the endpoint. */
  readonly setting: string
  readonly url: string
  /** The signal that is sent to exactly this URL. If undefined, the URL is a base URL for all signals. */
  readonly signal?: Signal
}

/** Matches the end of a signal-specific URL. A base URL should not end like this. */
const ofSignal = new RegExp(`(?:/+v1(?:/+(?:${signals.join('|')}))?)+/*$`, 'i')

/** Returns warnings about endpoints. The warnings omit query strings, because some backends accept an API key in them. */
function suspiciousEndpoints(config: Config, sourceOf: SourceOf): string[] {
  return endpointsOf(config).flatMap(({ setting, url, signal }) => {
    const why = [signal === undefined ? whyDoubled(url) : whyNoPath(url, signal), whyGrpc(url)]
    const source = sourceOf(setting)
    const place = [describeSource(source), ...(source.from === 'file' ? [setting] : [])].join(': ')
    return why.flatMap(one => (one === undefined ? [] : [`${place}: ${one}`]))
  })
}

function endpointsOf({ otlp, destinations, self }: Config): Endpoint[] {
  const found: readonly (Omit<Endpoint, 'url'> & { readonly url: string | undefined })[] = [
    { setting: 'otlp.endpoint', url: otlp.endpoint },
    ...signals.map(signal => ({ setting: `otlp.${signal}.endpoint`, url: otlp[signal].endpoint, signal })),
    ...destinations.map(({ endpoint }, index) => ({ setting: `destinations[${index}].endpoint`, url: endpoint })),
    { setting: 'self.otlp_endpoint', url: self.otlpEndpoint },
  ]
  return found.flatMap(({ url, ...one }) => (url === undefined ? [] : [{ ...one, url }]))
}

function whyDoubled(url: string): string | undefined {
  const { origin, pathname } = new URL(url)
  const [end] = ofSignal.exec(pathname) ?? []
  if (end === undefined) return undefined
  const meant = origin + pathname.slice(0, -end.length)
  return `The paths of the signals are appended to this URL: traces are sent to ${withoutQuery(withPath(url, 'traces'))}. Write ${meant}.`
}

function whyNoPath(url: string, signal: Signal): string | undefined {
  const { origin, pathname } = new URL(url)
  const [end] = ofSignal.exec(pathname) ?? []
  const own = `/v1/${signal}`
  // Paths other than OTLP's cause no warning, because a backend may define its own.
  if (end === own || (end === undefined && /[^/]/.test(pathname))) return undefined
  const meant = origin + pathname.slice(0, pathname.length - (end ?? pathname).length) + own
  return `This URL is used unchanged: nothing is appended, and ${signal} are usually sent to ${own}. Write ${meant}.`
}

function whyGrpc(url: string): string | undefined {
  const { port } = new URL(url)
  return isGrpcPort(url) ? `By its port ${port}, ${isOtlpGrpc}. Use the port of OTLP/HTTP.` : undefined
}

function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
