// Checks the destinations: sends an empty export for each signal, and explains what is wrong if it fails (TLS, credentials, address). Also shows
// which destinations accept a project, according to the project selection in the configuration and in each destination.
import { gzipSync } from 'node:zlib'
import { broken, reportOf, type Finding } from '../../lib/finding.ts'
import { certificateRemedy } from '../../lib/certificate-remedy.ts'
import { createOtlpHttp } from '../../core/send/otlp-http.ts'
import { sentenceOf, verdictOf, type Verdict } from '../../core/send/verdict.ts'
import type { NamedProject } from '../../daemon/connections.ts'
import type { Destination, Endpoint } from '../../core/send/destination.ts'
import type { Subject } from '../../model/route.ts'
import type { Selection } from '../../core/take-in/selection.ts'
import type { Signal } from '../../core/store/ports/outbox.ts'

const report = reportOf('export')
const route = reportOf('routes')
/** An empty export in protobuf is zero bytes long (OTLP, "Binary Protobuf Encoding"). */
const empty = new Uint8Array(0)

/**
 * Checks the destinations. `isOff`: whether the operator has disabled exports. `subject` provides the values for header templates; if it is
 * undefined, nothing is sent to destinations with templates.
 */
export async function checkDestinations(
  destinations: readonly Destination[],
  isOff: boolean,
  subject?: Subject,
): Promise<Finding[]> {
  const findings = await Promise.all(
    destinations.flatMap(destination =>
      Object.entries(destination.signals).map(async ([signal, endpoint]) =>
        checkSignal(destination, signal as Signal, endpoint, subject),
      ),
    ),
  )
  if (findings.length > 0) return findings
  if (isOff) return [report('skipped', 'Nothing is exported (PIPESPAN_OBSERVABILITY_EXPORT=none).')]
  return [report('failure', 'No destination is configured: nothing is exported.', 'Set OTEL_EXPORTER_OTLP_ENDPOINT.')]
}

/** Returns one finding per destination, and checks whether the destinations that accept the project respond. It warns if nothing is exported. */
export async function checkRoutes(
  destinations: readonly Destination[],
  selection: Pick<Selection, 'project'>,
  { path, instance, name: project }: NamedProject,
): Promise<Finding[]> {
  if (!selection.project(path, instance)) {
    const remedy =
      'Change projects.include (PIPESPAN_PROJECTS_INCLUDE) or projects.exclude (PIPESPAN_PROJECTS_EXCLUDE).'
    return [route('warning', `${project} is excluded: it is not exported.`, remedy)]
  }
  // Only the platform knows the project's ID. Any ID will do here: a header template that contains the ID has a value whatever the ID is.
  const subject = { instance, path, projectId: 0 }
  const takes = ({ takes: isTaken }: Destination): boolean => isTaken?.(subject) ?? true
  if (destinations.length > 0 && !destinations.some(takes)) {
    const remedy = 'Add it to `projects.include` of a destination, or list a destination without `projects`.'
    return [route('warning', `No destination is configured for ${project}: it is not exported.`, remedy)]
  }
  const routes = destinations.map(one => {
    const signals = Object.keys(one.signals).join(', ')
    const values = Object.entries(one.headerValues?.(subject) ?? {}).map(
      ([name, value]) => `{${name}} = ${name === 'project.id' ? 'its ID' : value}`,
    )
    const headers = values.length === 0 ? '' : `, with ${values.join(', ')} in its headers`
    if (takes(one)) return route('fine', `${project} is exported to "${one.name}": ${signals}${headers}.`)
    const why = one.headerValues !== undefined && one.headerValues(subject) === undefined
    return route(
      'skipped',
      `${project} is not exported to "${one.name}": ${why ? 'a template of its headers has no value' : 'its `projects` do not match the project'}.`,
    )
  })
  return [...routes, ...(await checkDestinations(destinations.filter(takes), false, subject))]
}

async function checkSignal(
  { name, bearer, proxy, headerValues }: Destination,
  signal: Signal,
  endpoint: Endpoint,
  subject: Subject | undefined,
): Promise<Finding> {
  const where = `"${name}" for ${signal} (${withoutQuery(endpoint.url)})`
  if (headerValues !== undefined && subject === undefined) {
    return report(
      'skipped',
      `${where} has headers that depend on the project: check them with pipespan doctor --project GROUP/PROJECT.`,
    )
  }
  try {
    const http = createOtlpHttp(endpoint, proxy, 1)
    const token = bearer?.current()
    const body = endpoint.compression === 'gzip' ? gzipSync(empty) : empty
    try {
      const answer = await http.post(body, token, new AbortController().signal, subject && headerValues?.(subject))
      return findingOf(verdictOf(answer, signal, Date.now()), where)
    } finally {
      await http.close()
    }
  } catch (error) {
    return broken(report, 'failure', error)
  }
}

/** For each kind of failure: the level of the finding, what is wrong, and how to fix it. */
const meanings = {
  unauthorized: [
    'failure',
    'does not accept the credentials',
    'Configure a valid token or header; the daemon re-reads a token file without a restart.',
  ],
  unacceptable: [
    'warning',
    'rejects an empty export',
    'If real exports fail too, check that the endpoint is an OTLP/HTTP receiver.',
  ],
  throttled: [
    'warning',
    'is rate-limiting',
    "The daemon retries automatically; if this persists, raise the backend's limit.",
  ],
  server: [
    'warning',
    'answers with an error',
    'The daemon retries automatically; if this persists, check the backend.',
  ],
  other: [
    'failure',
    'is not an OTLP/HTTP receiver',
    'Check the endpoint: a base URL without /v1/…, usually on port 4318.',
  ],
  unreachable: ['failure', 'cannot be reached', remedyOf],
} as const

function findingOf(verdict: Verdict, where: string): Finding {
  if (verdict.as !== 'delivered') {
    const [level, what, remedy] = meanings[verdict.as === 'later' ? verdict.kind : verdict.as]
    const does = typeof remedy === 'string' ? remedy : remedy(verdict.message)
    return report(level, `${where} ${what}: ${sentenceOf(verdict).replace(/\.$/, '')}.`, does)
  }
  if (verdict.message === undefined) return report('fine', `${where} accepts exports.`)
  const what = `${where} accepts exports, but answers with a message: ${verdict.message}.`
  return report('warning', what, 'Check that the endpoint is an OTLP/HTTP receiver.')
}

function remedyOf(message: string): string {
  const ofCertificate = certificateRemedy(
    message,
    'Set OTEL_EXPORTER_OTLP_CERTIFICATE to the CA that signed its certificate.',
  )
  if (ofCertificate !== undefined) return ofCertificate
  if (/SSL|TLS|HTTPS/.test(message))
    return 'Check http versus https in the endpoint, and the client certificate if the backend requires one.'
  if (/ENOTFOUND|EAI_AGAIN/.test(message))
    return 'Check the name in the endpoint, and that this machine can resolve it.'
  if (message.includes('ECONNREFUSED'))
    return 'Check the host and port of the endpoint, and that the backend listens there.'
  if (/closes the connection|is not HTTP/.test(message))
    return 'Check the port: OTLP/HTTP usually listens on 4318, and OTLP/gRPC on 4317. Check the proxies in between, too.'
  return 'Check the endpoint, and the firewalls and proxies between this machine and the backend.'
}

/** Removes the query string from a URL before it is shown, because some backends accept a key as a parameter. */
function withoutQuery(address: string): string {
  const { origin, pathname } = new URL(address)
  return origin + pathname
}

/** Returns which notification destinations accept the project. */
export function messageRoutes(destinations: readonly Destination[], project: NamedProject): Finding[] {
  const report = reportOf('notifications')
  const taken = destinations.filter(({ takes }) => takes?.(project) ?? true)
  return taken.map(({ name }) => report('fine', `Messages about ${project.name} are sent to "${name}".`))
}
